// Groups and the map: choose items, see what an edit would do, apply it, take it back.
import {h, icon, openForm, translator} from './ask.js';
import {$, $$, api, base, finished, request, say, toast, uuid} from './shell.js';

const data = JSON.parse($('#gallery-data').textContent), t = translator(data.strings);
const groups = new Map(data.groups.map(group => [group.id, group])),
      nameOf = id => groups.get(id)?.name ?? t('group.nobody');
const NOBODY = -1;        // the group of what is in none
const picks = new Map();  // id of an item -> id of its group
const bar = $('#pick-bar'), kept = `clew-edit ${base}`;
let map = null;

// ---------------------------------------------------------------- choosing
function chosen() {
  if (!bar) return;
  bar.hidden = !picks.size;
  $('#n-picked').textContent = t('pick.chosen', {n: picks.size});
  const from = [...new Set(picks.values())];
  $('#from-picked').textContent =
    from.length && from.length < 6 ? t('pick.from', {groups: from.map(nameOf).join(', ')}) : '';
  $('[data-do=merge]').disabled = from.length < 2;
  const isNobody = from.length === 1 && from[0] === NOBODY;
  $('[data-do=split]').disabled = $('[data-do=not_in]').disabled = from.length !== 1 || isNobody;
  $('[data-do=set_aside]').hidden = isNobody;
  $('[data-do=restore]').hidden = !isNobody;
  say($('#n-picked').textContent);
}
function pick(id, group, on) {
  on ? picks.set(id, group) : picks.delete(id);
  $$(`.pick[data-id="${CSS.escape(id)}"]`).forEach(button => button.setAttribute('aria-pressed', on));
}
let anchor = null;
document.addEventListener('click', event => {
  const button = event.target.closest('.pick');
  if (!button) return;
  const all = $$('.pick'), on = button.getAttribute('aria-pressed') !== 'true';
  if (event.shiftKey && anchor?.isConnected) {
    const [a, b] = [all.indexOf(anchor), all.indexOf(button)].sort((x, y) => x - y);
    all.slice(a, b + 1).forEach(one => pick(one.dataset.id, Number(one.dataset.group), true));
  } else pick(button.dataset.id, Number(button.dataset.group), on);
  anchor = button;
  chosen();
});
export function clear() {
  picks.clear();
  $$('.pick[aria-pressed=true]').forEach(button => button.setAttribute('aria-pressed', false));
  map?.clear();
  chosen();
}
$('#clear')?.addEventListener('click', clear);
addEventListener('keydown', event => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.repeat ||
    event.target.closest('input, textarea, select, dialog'))
    return;
  const key = event.key.toLowerCase();
  if (key === 'escape' && picks.size) clear();
  const button = picks.size && {m: 'move', j: 'merge', x: 'split'}[key];
  if (bar && button && !$(`[data-do=${button}]`).disabled) {
    event.preventDefault();
    $(`[data-do=${button}]`).click();
  }
  const here = document.activeElement.closest?.('.pick'), step = {arrowright: 1, arrowleft: -1}[key];
  if (here && step) {
    const all = $$('.pick');
    all[all.indexOf(here) + step]?.focus();
    event.preventDefault();
  }
});

// ---------------------------------------------------------------- edits, previewed
/** Up to three examples of a group, or others of its items on the page, without some items. */
function examples(group, without = new Set()) {
  const typical = (groups.get(group)?.examples ?? []).filter(id => !without.has(id));
  if (typical.length) return typical;
  const shown = $$(`.pick[data-group="${group}"]`).map(button => button.dataset.id);
  return shown.filter(id => !without.has(id)).slice(0, 3);
}
function editsOf(kind, target) {  // the edits that an action stands for
  const items = [...picks.keys()], mine = new Set(items), from = [...new Set(picks.values())];
  if (kind === 'move' && target === NOBODY) return [{kind: 'set_aside', items, target: []}];
  if (kind === 'move') return [{kind, items, target: examples(target, mine)}];
  if (kind === 'merge') {
    const others = target === undefined ? from.slice(1) : [target];
    return others.map(group => ({kind, items: examples(from[0]), target: examples(group)}));
  }
  if (kind === 'split' || kind === 'not_in') return [{kind, items, target: examples(from[0], mine)}];
  return [{kind, items, target: []}];
}
const date = at => new Date(at).toLocaleDateString('en-GB', {day: 'numeric', month: 'short'});
/** What would move from where to where, what it contradicts, and which questions it answers. */
function consequence(preview) {
  const {moves = [], contradicts = [], superfluous = []} = preview, ways = new Map();
  for (const {before, after} of moves) {
    const way = `${before} ${after}`;
    ways.set(way, {before, after, n: (ways.get(way)?.n ?? 0) + 1});
  }
  const name = group => group === null || group < 0 ? t('group.nobody') :
    groups.has(group)                               ? nameOf(group) :
                                                      t('group.new');
  const way = one => t('preview.move', {n: one.n, before: name(one.before), after: name(one.after)});
  const many = [...ways.values()].sort((a, b) => b.n - a.n);
  const first = moves.length ? 'preview.moves' : contradicts.length ? 'preview.outweighed' : 'preview.none';
  const list = [h('li', {}, t(first, {n: moves.length}),
    many.length ? h('span', {class: 'faint', dir: 'auto'}, ` ${many.slice(0, 5).map(way).join('; ')}`) : '')];
  if (contradicts.length) {
    const {annotator, said = '', at} = contradicts[0];
    const who = t('preview.who', {who: annotator || '–', said, when: at ? date(at) : ''});
    const words = ` ${t('preview.against', {n: contradicts.length})} ${annotator ? who : ''}`;
    list.push(h('li', {}, icon('diff', 'link-ico'), words));
  } else list.push(h('li', {}, t('preview.agrees')));
  if (superfluous.length) list.push(h('li', {}, t('preview.superfluous', {n: superfluous.length})));
  return list;
}
/** Says in a list what edits would do, each below its title; how many items they would move. */
async function preview(edits, titles, list, button, isWanted) {
  let n = 0;
  button.disabled = true;
  list.replaceChildren(h('li', {class: 'faint'}, t('preview.wait')));
  try {
    const found = [];
    for (const edit of edits) {
      const asked = await request(`${api}/edits`, 'POST', {...edit, preview: true});
      const result = await finished(asked, isWanted);
      if (!result || !isWanted()) return n;
      if (edits.length > 1) found.push(h('li', {}, h('strong', {dir: 'auto'}, titles[edits.indexOf(edit)])));
      found.push(...consequence(result));
      n += result.moves?.length ?? 0;
    }
    list.replaceChildren(...found);
  } catch (problem) { list.replaceChildren(h('li', {}, t('preview.failed', {why: problem.message}))); }
  button.disabled = false;
  return n;
}
/** Asks whether an action is to be done, and says what it would do; `kind` names its words. */
function ask(kind, {choose = kind === 'move'} = {}) {
  const n = picks.size, from = new Set(picks.values()), list = h('ul', {class: 'list'});
  const others = [...groups.values()].filter(group => !(from.size === 1 && from.has(group.id)));
  const select = h('select', {},
    ...others.map(group => h('option', {value: group.id}, `${group.name} (${group.n.toLocaleString('en')})`)),
    kind === 'move' && h('option', {value: NOBODY}, t('group.nobody')));
  const target = () => choose ? Number(select.value) : undefined;
  const words = what => {
    const both = kind === 'merge' && choose ? [...from, target()] : [...from];
    const values = {n, target: nameOf(target()), from: both.map(nameOf).join(t('and'))};
    return t(`edit.${kind === 'move' && target() === NOBODY ? 'set_aside' : kind}.${what}`, values);
  };
  const body = [
    choose && h('label', {class: 'field'}, t('edit.target'), select), list,
    h('p', {class: 'faint'}, t(kind === 'restore' ? 'edit.restore.text' : 'edit.kept'))
  ];
  let edits = [], n_moved = 0;
  const show = async () => {
    $('h2', box).textContent = words('ask');
    $('.main', box).textContent = words('go');
    const mine = edits = editsOf(kind, target());
    if (kind === 'restore') return;
    const titles = [...from].slice(1).map(group => [[...from][0], group].map(nameOf).join(t('and')));
    const isWanted = () => list.isConnected && mine === edits;
    n_moved = await preview(mine, titles, list, $('.main', box), isWanted);
  };
  const act = async () => {
    const isYet = n_moved || target() === NOBODY || !['move', 'merge', 'split'].includes(kind);
    try {
      const ids = await apply(kind, edits), said = isYet ? words('done') : t('edit.outweighed');
      sessionStorage.setItem(kept, JSON.stringify({said, ids, at: Date.now()}));
    } catch (problem) {
      if (problem.kind === 'stale') {  // newer groups: say what it would do to those
        data.revision = (await request(`${api}/status`)).revision;
        show();
      }
      throw problem;
    }
    clear();
    offerUndo();
    renew(3000);
  };
  const box = openForm(document.body, 'edit', '', body, {go: '', cancel: t('cancel')}, act);
  select.addEventListener('change', show);
  show();
}
/** Sends edits, of which all or none are kept; their ids, by which they are taken back. */
async function apply(kind, edits) {
  if (kind === 'restore') {
    await request(`${api}/items:restore`, 'POST', {items: edits[0].items});
    return [];
  }
  const all = edits.map(edit => ({...edit, submission_id: uuid()}));
  await request(`${api}/edits:all`, 'POST', {edits: all, base_revision: data.revision});
  return all.map(edit => edit.submission_id);
}
function offerUndo() {
  const last = JSON.parse(sessionStorage.getItem(kept) ?? 'null');
  if (!last || Date.now() - last.at > 12000) return;
  const undo = async () => {
    await request(`${api}/edits:revoke`, 'POST', {ids: last.ids});
    sessionStorage.removeItem(kept);
    toast(t('edit.undone'));
    renew(3000);
  };
  toast(last.said, last.ids.length && undo);
}
$$('[data-do]').forEach(button => button.addEventListener('click', () => ask(button.dataset.do)));
const choose = (ids, group) => {
  clear();
  ids.forEach(id => picks.set(id, group));
};
$('#merge-with')?.addEventListener('click', () => {
  choose(examples(data.group), data.group);
  ask('merge', {choose: true});
});
$('#lock-group')?.addEventListener('click', () => {
  choose(data.members, data.group);
  ask('lock');
});
$('#resplit')?.addEventListener('click', async ({currentTarget: button}) => {
  button.disabled = true;
  toast(t('group.resplit.asked'));
  try {
    const asked = await request(`${api}/recluster`, 'POST', {group: data.group});
    offerParts((await finished(asked)).parts ?? []);
  } catch (problem) { toast(problem.message); }
  button.disabled = false;
});
function offerParts(parts) {  // the parts of a group: choose one, then split it off
  const face = id => {
    const shown = $(`.pick[data-id="${CSS.escape(id)}"] > :first-child`)?.cloneNode(true);
    const img = $('.pick img') && h('img', {src: `${api}/media/${encodeURIComponent(id)}?size=160`, alt: ''});
    return h('span', {class: 'mini'}, shown ?? img ?? h('span', {class: 'scrap', dir: 'auto'}, id));
  };
  const part = ids => {
    const split = () => {
      box.close();
      choose(ids, data.group);
      ask('split');
    };
    return h('li', {class: 'row'}, h('span', {class: 'minis grow'}, ...ids.slice(0, 4).map(face)),
      h('button', {class: 'btn', type: 'button', onclick: split}, t('group.part', {n: ids.length})));
  };
  const list = h('ul', {class: 'list'}, ...parts.map(part));
  const box = openForm(document.body, 'parts', t('group.parts', {n: parts.length}), [list], {go: t('close')});
}

// ---------------------------------------------------------------- names
$$('.name-it, #rename').forEach(button => button.addEventListener('click', () => {
  const id = Number(button.dataset.group);
  const input = h('input', {maxlength: 200, dir: 'auto', value: groups.get(id)?.named ?? ''});
  const body =
    [h('label', {class: 'field'}, t('group.name'), input), h('p', {class: 'faint'}, t('group.name.nobody'))];
  const words = {go: t('group.name.go'), cancel: t('cancel')};
  openForm(document.body, 'name', t('group.name.ask'), body, words, async () => {
    await request(`${api}/groups/${id}`, 'PATCH', {name: input.value.trim()});
    location.reload();
  });
  input.focus();
}));

// ---------------------------------------------------------------- more of a group, as one scrolls
const more = $('#more');
let loading = false;
const near = new IntersectionObserver(seen => {
  if (seen.some(one => one.isIntersecting) && more.dataset.started) loadMore();
}, {rootMargin: '600px'});
async function loadMore() {
  if (!more || loading || !more.dataset.after) return;
  more.dataset.started = loading = true;
  const reply =
    await request(`${api}/groups/${data.group}?after=${more.dataset.after}&limit=40`).catch(problem => {
      toast(problem.message);
      return null;
    });
  loading = false;
  if (!reply) return;
  const list = h('ul', {class: 'strand wrap chunk'},
    ...reply.items.map((item, i) => strung(item, Number(more.dataset.after) + i)));
  $('#rest').append(list);
  more.dataset.after = reply.next ?? '';
  more.hidden = !reply.next;
  if (reply.next) more.textContent = t('group.more', {n: reply.n_items - reply.next});
  near.unobserve(more);  // an observer reports changes only
  near.observe(more);
}
function strung(item, i) {
  const words = {knot: t('thread.knot'), fair: t('thread.fair'), doubt: t('thread.doubt')}[item.line];
  const label = `${nameOf(data.group)} ${i + 1}${words ? `, ${words}` : ''}`;
  const at = {'data-id': item.id, 'data-group': data.group};
  const face = item.url ? h('img', {src: item.url, alt: '', loading: 'lazy', decoding: 'async'}) :
                          h('span', {class: 'scrap', dir: 'auto', title: item.id},
                            item.text ?? (item.columns ?? []).map(([k, v]) => `${k}: ${v}`).join('\n'));
  return h('li', {class: item.line},
    h('button',
      {class: 'pick', type: 'button', 'aria-pressed': picks.has(item.id), 'aria-label': label, ...at}, face,
      h('span', {class: 'tick'}, icon('check'))),
    h('span', {class: 'cap'}, `${Math.round(100 * item.confidence)} %`));
}
if (more) {
  more.addEventListener('click', loadMore);
  near.observe(more);
}

// ---------------------------------------------------------------- news
let renewing = 0;
const show = () => {
  if (Date.now() < renewing && !$('dialog[open]') && !picks.size) location.reload();
  else if ($('#news')) $('#news').hidden = false;
};
const renew = ms => {
  renewing = Date.now() + 20000;
  setTimeout(show, ms);
};
const source = new EventSource(`${api}/events`);
source.addEventListener('revision', event => {
  if (JSON.parse(event.data).revision !== data.revision) show();
});
addEventListener('pagehide', () => source.close());
offerUndo();

// ---------------------------------------------------------------- the map
const canvas = $('#map-canvas');
if (canvas) map = (await import('./map.js')).showMap(canvas, {picks, pick, chosen, nameOf, t});
