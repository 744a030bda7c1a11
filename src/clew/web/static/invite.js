// The page of a link: a name, the guideline, three practice questions. Its button uses the link up.
import {mount, request, translator} from './ask.js';
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
      location.replace(`${base}/${invite.next}`);  // the secret leaves the address bar
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
  const {questions, strings} = practice, t = translator(strings), end = {questions: [], state: 'practised'};
  const told = ({answer, order}) => {  // what most people say, also of a question that is asked again
    const [a, b] = order?.map(id => id.split('-')[0]).sort() ?? [];
    const best = a === 'blur' ? 'dont_know' : a === b ? 'same' : 'different';
    return order && (answer === best ? ['check', t('practice.right')] : ['diff', t(`practice.${best}`)]);
  };
  const transport = {
    lease: async () => end,
    send: async answers => ({
      ...end,
      told: told(answers.at(-1)),
      results: answers.map(one => ({submission_id: one.submission_id, status: 'stored'})),
      held: questions.map(q => q.question_id)
    })
  };
  mount(document.getElementById('ask'), transport,
    {...practice, isPractice: true, first: {questions}, onPractised: () => location.replace(`${base}/ask`)});
}
