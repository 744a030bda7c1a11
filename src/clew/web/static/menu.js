// The menu of small screens, on every page.
const menu = document.getElementById('menu-button'), nav = document.getElementById('nav');
const open = on => {
  nav.classList.toggle('is-open', on);
  menu.setAttribute('aria-expanded', on);
};
menu?.addEventListener('click', () => open(!nav.classList.contains('is-open')));
addEventListener('keydown', event => {
  if (event.key !== 'Escape' || !nav?.classList.contains('is-open')) return;
  open(false);
  menu.focus();
});
