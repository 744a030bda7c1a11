// What would change: without one person's answers, or if a doubtful answer were mended.
import {h} from './ask.js';
import {$, $$, api, finished, request} from './shell.js';

/** Says how many items would move, and which from where to where. */
function tell(out, result, names = {}, title = '') {
  const n = result.n_moved ?? result.moves.length,
        words = {0: out.dataset.none, 1: out.dataset.one}[n] ?? out.dataset.other;
  const nameOf = id => names[id] ?? names[-1];
  const list = result.moves.slice(0, 12).map(
    one => h('li', {class: 'row'}, h('span', {class: 'mono grow', dir: 'auto'}, one.id),
      h('span', {dir: 'auto'}, `${nameOf(one.before)} → ${nameOf(one.after)}`)));
  out.replaceChildren(
    (words ?? out.dataset.other).replace('{name}', title).replace('{n}', n.toLocaleString('en')),
    ...(Object.keys(names).length && n ? [h('ul', {class: 'list'}, ...list)] : []));
}

// --- progress: leave one person out
const data = $('#progress-data') && JSON.parse($('#progress-data').textContent);
$$('[data-leave-out]').forEach(button => button.addEventListener('click', async () => {
  const out = $('#left-out'), name = button.dataset.leaveOut;
  button.disabled = true;
  out.textContent = out.dataset.wait.replace('{name}', name);
  try {
    const asked = await request(`${api}/recluster`, 'POST', {leave_out: name});
    tell(out, await finished(asked), data.names, name);
  } catch (problem) { out.textContent = problem.message; }
  button.disabled = false;
}));

// --- review: what each mend would do, and whom to ask instead
const form = $('#fix');
if (form) {
  const who = $('#fix-who'), select = $('select', who), go = $('#apply-fix'), moves = $('#fix-moves');
  const chosen = () => form.elements.fix.value;
  const show = () => {
    const asks = chosen() === 'ask', radio = $('input[name=fix]:checked', form);
    go.disabled = $('#preview-fix').disabled = !radio;
    who.hidden = !asks;
    select.disabled = !asks;
    $('#preview-fix').hidden = asks;
    if (radio) go.textContent = asks ? form.dataset.ask.replace('{who}', select.value) : radio.dataset.label;
    moves.textContent = '';
  };
  form.addEventListener('change', show);
  show();
  $('#preview-fix').addEventListener('click', async () => {
    const fix = chosen();
    moves.textContent = moves.dataset.wait;
    try {
      const body = {entry: form.elements.entry.value, fix, preview: true};
      const found = await finished(await request(`${api}/review`, 'POST', body));
      if (fix === chosen()) tell(moves, found, JSON.parse(form.dataset.names));
    } catch (problem) { moves.textContent = problem.message; }
  });
}
