// What one person sets for this browser: the look, keys, questions held ahead.
import {stored} from './ask.js';
import {$, $$, base} from './shell.js';

const put = (name, value) => {
  try {
    value === null ? localStorage.removeItem(name) : localStorage.setItem(name, value);
  } catch { /* a private window */
  }
};
$$('#theme input').forEach(input => input.addEventListener('change', () => {
  document.cookie =
    `clew_theme=${input.value}; path=${base || '/'}; max-age=${input.value ? 31536000 : 0}; samesite=lax`;
  if (input.value) document.documentElement.dataset.theme = input.value;
  else delete document.documentElement.dataset.theme;
}));
const single = $('#single-keys'), ahead = $('#ahead'), keys = $('#keys');
single.checked = stored('clew-single-keys') !== 'off';
single.addEventListener('change', () => put('clew-single-keys', single.checked ? null : 'off'));
ahead.value = stored('clew-ahead') ?? 4;
ahead.addEventListener('change', () => put('clew-ahead', ahead.value));
const mine = JSON.parse(stored('clew-keys') ?? '{}');
$$('input[data-key]', keys).forEach(input => {
  input.value = mine[input.dataset.key] ?? input.defaultValue;
  input.addEventListener('keydown', event => {
    if (event.key.length > 1 || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const key = event.key.toLowerCase(),
          other = $$('input[data-key]', keys).find(one => one !== input && one.value.includes(key));
    const error = $('.error', keys), {words} = error.dataset;
    error.textContent =
      other ? words.replace('{key}', key).replace('{name}', other.getAttribute('aria-label')) : '';
    if (other) return;
    input.value = mine[input.dataset.key] = key;
    put('clew-keys', JSON.stringify(mine));
  });
});
$('#keys-default').addEventListener('click', () => {
  put('clew-keys', null);
  location.reload();
});
