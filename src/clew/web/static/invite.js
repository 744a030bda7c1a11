// The page of a link: a name, the guideline, three practice questions. Opening it uses nothing up; the button
// does.
import {mount, request} from './ask.js';
const read = id => {
  const node = document.getElementById(id);
  return node && JSON.parse(node.textContent);
};
const base = document.body.dataset.base ?? '';

const invite = read('invite-data');
if (invite) {
  const form = document.getElementById('sign-in'), error = form?.querySelector('.error');
  const go = async () => {
    try {
      const {token, code} = invite, name = form.elements.name?.value ?? '';
      await request(`${base}/api/v1/sign-in`, 'POST', {token, code, name});
      location.replace(
        `${base}/${invite.practice ? 'practice' : 'ask'}`);  // the secret leaves the address bar
    } catch (problem) { error.textContent = problem.message; }
  };
  form?.addEventListener('submit', event => {
    event.preventDefault();
    go();
  });
  if (form && invite.at_once) go();
}

const practice = read('practice-data');
if (practice) {
  const root = document.getElementById('ask'), live = document.getElementById('live');
  let n = 0;
  const transport = {
    lease: async () => ({questions: [], state: 'practised'}),
    send: async answers => {
      for (const one of answers)
        if (!one.revokes) {
          n += 1;
          live.textContent = '';
        }
      return {
        results: answers.map(one => ({submission_id: one.submission_id, status: 'stored'})),
        questions: [],
        held: practice.questions.map(q => q.question_id),
        state: 'practised'
      };
    },
  };
  mount(root, transport, {
    ...practice,
    first: {questions: practice.questions},
    onPractised: () => location.replace(`${base}/ask`)
  });
}
