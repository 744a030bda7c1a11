// What pages share: forms and buttons that speak JSON to the API, and a line that says what was done.
import {h, request, uuid} from './ask.js';
const $ = (selector, root = document) => root.querySelector(selector),
      $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
const base = document.body.dataset.base ?? '', api = `${base}/api/v1`;
export const say = text => {
  const live = $('#live');
  if (live) live.textContent = text;
};

/** A line over the bar that says what was done, with a way back. */
export function toast(text, undo) {
  $('.toast')?.remove();
  const act = () => {
    box.remove();
    undo?.();
  };
  const button =
    h('button', {class: 'btn', type: 'button', onclick: act}, document.body.dataset[undo ? 'undo' : 'close']);
  const box = h('div', {class: 'toast', role: 'status'}, h('span', {}, text), button);
  document.body.append(box);
  setTimeout(() => {
    if (!box.matches(':focus-within')) box.remove();
  }, 12000);
}

/** Forms with data-api send their fields as JSON: data-method, data-api; what to do then: data-then. */
function fields(form) {
  const body = {};
  for (const input of form.elements) {
    if (!input.name || input.disabled || (input.type === 'radio' && !input.checked)) continue;
    if (input.dataset.list !== undefined) {
      body[input.name] ??= [];
      if (input.checked) body[input.name].push(input.value);
    } else if (input.type === 'checkbox') body[input.name] = input.checked;
    else body[input.name] = input.type === 'number' ? Number(input.value) : input.value;
  }
  return body;
}
document.addEventListener('submit', async event => {
  const form = event.target.closest('form[data-api]');
  if (!form) return;
  event.preventDefault();
  const error = $('.error', form), said = $('.said', form);
  if (error) error.textContent = '';
  $('output', form)?.toggleAttribute('hidden', true);  // a secret of before
  try {
    const reply = await request(`${api}/${form.dataset.api}`, form.dataset.method ?? 'POST', fields(form));
    if (form.dataset.then === 'secret') {
      const out = $('output', form);
      out.hidden = false;
      $('input', out).value = reply.url ?? reply.token;
      $('input', out).select();
      const page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), 'text/html');
      $('#links').replaceWith($('#links', page));
    } else if (form.dataset.then === 'reload') location.reload();
    if (said) {
      said.textContent = said.dataset.words;
      say(said.dataset.words);
    }
  } catch (problem) {
    if (error) error.textContent = problem.message;
    say(problem.message);
  }
});
document.addEventListener('click', async event => {
  const button = event.target.closest('button[data-call]');
  if (!button) return;
  if (button.dataset.sure && !button.classList.contains('is-sure')) {
    button.classList.add('is-sure');
    button.textContent = button.dataset.sure;
    return;
  }
  button.disabled = true;
  try {
    await request(`${api}/${button.dataset.call}`, button.dataset.method ?? 'POST',
      button.dataset.body ? JSON.parse(button.dataset.body) : undefined);
    if (button.dataset.then) location.assign(base + button.dataset.then);
    else location.reload();
  } catch (problem) {
    button.disabled = false;
    toast(problem.message);
  }
});
$$('[data-copy]').forEach(button => button.addEventListener('click', () => {
  const input = $(`#${button.dataset.copy}`);
  input.select();
  navigator.clipboard?.writeText(input.value).then(() => say(button.dataset.said)).catch(() => {});
}));

/** A page that waits for the first groups shows them when they are there. */
if ($('[data-waits]'))
  new EventSource(`${api}/events`).addEventListener('revision', ({data}) => {
    if (JSON.parse(data).revision !== null) location.reload();
  });

/** Waits until the worker has done what it was asked for; its result. */
export async function finished(reply, isWanted = () => true) {
  while (reply.status === 'waiting' || reply.status === 'running') {
    await new Promise(resolve => setTimeout(resolve, 400));
    if (!isWanted()) return null;
    reply = await request(`${api}/jobs/${reply.job}`);
  }
  if (reply.status === 'failed') throw new Error(reply.error ?? '');
  return reply.result;
}

export {$, $$, api, base, request, uuid};
