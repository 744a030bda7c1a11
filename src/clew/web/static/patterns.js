// Every kind of question and every state of the asking page, without a server: for eyes, axe and screenshots.
import {failure, h, mount} from './ask.js';

const data = JSON.parse(document.getElementById('patterns-data').textContent),
      base = document.body.dataset.base ?? '';
const KINDS = ['pair', 'triplet', 'odd_one_out', 'which_of', 'confirm'],
      MEDIA = ['image', 'text', 'row', 'sound'];
const STATES = [
  'early', 'answered', 'undone', 'zoomed', 'behind', 'broken', 'offline', 'busy', 'storage', 'refused',
  'group', 'flag', 'note', 'keys', 'guide', 'no_items', 'warming_up', 'nothing', 'all_asked', 'finished',
  'ended', 'two_tabs', 'practised', 'long', 'rtl'
];
const shapes = ['disc-1', 'disc-2', 'square-1', 'blur-1'], TEXTS = [
  'Hello, I ordered the blue kettle on Monday and the page still says “preparing”. I am away from Friday. Can you hold it until the 14th, or send it to my office?',
  'order 20417 – pls change delivery address, I’m not home next week!! kettle is a gift so no invoice in the box please. thanks, M.',
  'Where is my kettle?', 'I would like to return a toaster.'
];
const ROWS = [
  ['Hanna Lindqvist', '1962-03-08', 'Brunnsgatan 4', 'Uppsala', '+46 18 55 01 17'],
  ['Lindqvist, H.', '1962-03-08', 'Brunnsg. 4 A', 'Uppsala', '018-550117'],
  ['Anna Lind', '1974-11-30', 'Storgatan 9', 'Lund', '046-12 33 01'], ['A. Lind', '', 'Storg. 9', 'Lund', '']
];
const item = (kind, i, state) => {
  const one = {id: `item-${i}`, kind};
  if (kind === 'image')
    one.url = state === 'broken' && !i ? `${base}/static/practice/none.svg` :
                                         `${base}/static/practice/${shapes[i % 4]}.svg`;
  if (kind === 'sound')
    Object.assign(one, {url: `${base}/static/practice/song.webp`, sound: `${base}/static/practice/tone.wav`});
  if (kind === 'text')
    one.text = state === 'long' ? `${TEXTS[i % 4]} `.repeat(40) :
      state === 'rtl' ? 'مرحبا، طلبت الغلاية الزرقاء يوم الاثنين وما زالت الصفحة تقول «قيد التحضير».' :
                        TEXTS[i % 4];
  if (kind === 'row')
    one.columns = ['Name', 'Born', 'Street', 'Town', 'Phone'].map((name, j) => [name, ROWS[i % 4][j]]);
  if (state === 'long')
    one.name = 'a very long name/of a file with spaces/IMG_2041_final(2).jpeg · 2024-05-12';
  return one;
};
export function question(kind, media, state, n) {
  const parts = {which_of: [1, 3, 2, 1, 3, 2, 1], confirm: [3, 8]}[kind] ?? [],
        size = {pair: 2, triplet: 3, odd_one_out: 3, which_of: 13, confirm: 11}[kind];
  return {
    question_id: `${n}`,
    kind,
    expires: '2100-01-01',
    parts,
    items: Array.from({length: size}, (_, i) => item(media, i, state)),
    examples: state === 'group' ? [1, 4, 5].map(i => item(media, i, state)) : [],
    order: Array.from({length: size}, (_, i) => i)
  };
}
const list = document.getElementById('ask-states');
if (list) {
  const link = (words, query) =>
    h('li', {}, h('a', {class: 'btn', href: `${base}/patterns/ask?${query}`}, words));
  list.append(
    ...KINDS.flatMap(kind => MEDIA.map(media => link(`${kind}, ${media}`, `kind=${kind}&media=${media}`))),
    ...STATES.map(state => link(state, `state=${state}`)));
}
const root = document.getElementById('ask');
if (root) {
  const ask = new URLSearchParams(location.search), state = ask.get('state') ?? '',
        kind = ask.get('kind') ?? 'pair', media = ask.get('media') ?? (state === 'rtl' ? 'text' : 'image');
  const idle = ['no_items', 'warming_up', 'nothing', 'all_asked', 'finished', 'practised'].includes(state);
  const progress = state === 'early' ? null : {low: 90, median: 140, high: 220, answered: 312},
        answered = state === 'early' ? 8 : 312;
  const reply = {
    questions: idle ? [] : [0, 1, 2].map(n => question(kind, media, state, n)),
    state,
    n_answered: answered,
    progress,
    summary: {n_answers: 452, n_items: 5000, n_groups: 8, quality: '95 of 100 pairs are right. '},
    doubtful: 3,
    completion: state === 'finished' ? 'WOOL-7731' : '',
    finished: state === 'finished'
  };
  const why = {storage: 'The disk is full.', refused: 'This question is not yours.'}[state] ?? '';
  const fails = ['offline', 'busy', 'storage', 'ended', 'refused'].includes(state);
  const transport = {
    lease: async () => ({...reply, questions: []}),
    send: async answers => {
      if (fails) throw failure(state, why, 4);
      return {
        results: answers.map(one => ({submission_id: one.submission_id, status: 'stored'})),
        held: ['0', '1', '2'],
        n_answered: answered + 1,
        progress
      };
    }
  };
  const settings = {
    question: state === 'rtl'              ? 'هل هو الشيء نفسه؟' :
      kind === 'pair' && media === 'image' ? 'Same kind of leaf?' :
                                             '',
    guideline: 'Same species counts as same. Ignore size, colour and damage.\nIf in doubt, say so.',
    guideline_short: 'Same species counts as same. Ignore size, colour and damage.'
  };
  const saved = document.getElementById('saved');
  const page = mount(root, transport, {
    strings: data.strings,
    settings,
    first: reply,
    progress,
    answered,
    behind: state === 'behind' ? 120 : 0,
    base,
    onSaved: (n, waiting) => {
      if (saved) saved.textContent = waiting ? `${n}` : '';
    }
  });
  const key = k => document.dispatchEvent(new KeyboardEvent('keydown', {key: k, bubbles: true}));
  const keys = {answered: '2', undone: '2', flag: 'f', note: 'n', keys: '?', guide: 'g', zoomed: 'z'};
  root.addEventListener('painted', () => setTimeout(() => {
    const pressed = fails ? '2' : keys[state];
    if (pressed) key(pressed);
    if (state === 'undone') setTimeout(() => key('u'), 300);
    document.body.dataset.ready = 'yes';
  }, 250), {once: true});
  if (state === 'two_tabs')
    page.stop('two_tabs', {},
      [h('button', {class: 'btn main', type: 'button'}, data.strings['state.two_tabs.take'])]);
  if (idle || state === 'two_tabs') document.body.dataset.ready = 'yes';
}
