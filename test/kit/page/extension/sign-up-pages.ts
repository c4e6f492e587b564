/** Pages of somebody else's site: an address, then the code that was mailed to it. All three say welcome only to the right code. */
export const SIGN_UP_PAGES = { form: formPage, app: appPage, boxes: boxesPage } as const

export type Variant = keyof typeof SIGN_UP_PAGES

const page = (title: string, body: string, more = '') => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 26rem; margin: 3rem auto; padding: 0 1rem }
  label { display: block; margin: 1rem 0 .25rem }
  input { font: inherit; padding: .5rem .75rem; width: 100%; box-sizing: border-box; border: 1px solid #888; border-radius: 4px }
  button { font: inherit; padding: .5rem 1rem; margin-top: 1rem }
</style>
${more}
</head>
<body>${body}</body>
</html>`

/** Documents that a server renders, as most sites have them. */
function formPage(step: 'address' | 'code' | 'welcome', email: string): string {
  if (step === 'welcome') return page('Welcome', `<h1 id="welcome">Welcome, ${email}</h1>`)
  const [action, field] =
    step === 'address'
      ? [
          '/form/code',
          '<label for="email">E-mail</label><input id="email" name="email" type="email" autocomplete="email" required>',
        ]
      : [
          '/form/welcome',
          `<input type="hidden" name="email" value="${email}"><label for="code">Code</label><input id="code" name="code" inputmode="numeric" autocomplete="one-time-code" required>`,
        ]
  return page(
    'Tea house',
    `<h1>Tea house</h1><form method="post" action="${action}">${field}<button>Continue</button></form>`,
  )
}

/**
 * One document, whose fields are two open shadow roots deep. Each field has its value from the state, which only input events
 * change, as in React: a value that is only assigned is lost with the next render. The code field has no autocomplete.
 */
function appPage(): string {
  return page(
    'Tea house',
    '<tea-house></tea-house>',
    `<script type="module">
  class TeaField extends HTMLElement {
    connectedCallback() {
      const root = this.attachShadow({ mode: 'open' })
      root.innerHTML = '<style>input { font: inherit; padding: .5rem .75rem; width: 100%; box-sizing: border-box }</style><label for="in"></label><input id="in">'
      root.querySelector('label').textContent = this.title
      const input = root.querySelector('input')
      Object.assign(input, { type: this.dataset.type, name: this.dataset.name })
      let value = ''
      input.addEventListener('input', () => {
        value = input.value
        this.dispatchEvent(new CustomEvent('value', { detail: value }))
      })
      setInterval(() => { if (input.value !== value) input.value = value }, 50)
    }
  }
  customElements.define('tea-field', TeaField)

  customElements.define('tea-house', class extends HTMLElement {
    connectedCallback() {
      this.attachShadow({ mode: 'open' })
      this.ask('E-mail', 'email', 'email', async (email) => {
        await send('/api/code', { email })
        this.ask('Verification code', 'text', 'verification_code', async (code) => {
          const { welcome } = await send('/api/welcome', { email, code })
          this.shadowRoot.innerHTML = '<h1 id="welcome"></h1>'
          this.shadowRoot.firstChild.textContent = welcome
        })
      })
    }
    ask(title, type, name, then) {
      this.shadowRoot.innerHTML = '<h1>Tea house</h1><tea-field></tea-field><button>Continue</button>'
      const field = Object.assign(document.createElement('tea-field'), { title })
      Object.assign(field.dataset, { type, name })
      let value = ''
      field.addEventListener('value', ({ detail }) => { value = detail })
      this.shadowRoot.querySelector('tea-field').replaceWith(field)
      this.shadowRoot.querySelector('button').onclick = () => then(value)
    }
  })
  ${SEND}
</script>`,
  )
}

/** Six boxes of one digit each, which move the focus on and submit by themselves when all are filled. */
function boxesPage(): string {
  const boxes = Array.from(
    { length: 6 },
    (_, at) => `<input inputmode="numeric" maxlength="1" aria-label="Digit ${at + 1}">`,
  )
  return page(
    'Tea house',
    `<h1>Tea house</h1>
<form id="address"><label for="email">Your e-mail address</label><input id="email" type="text" name="user_email"><button>Continue</button></form>
<form id="code" hidden><p>Enter the code that we have sent you</p><div class="boxes">${boxes.join('')}</div></form>
<h1 id="welcome" hidden></h1>`,
    `<style>.boxes { display: flex; gap: .5rem } .boxes input { width: 3rem; text-align: center }</style>
<script type="module">
  const boxes = [...document.querySelectorAll('.boxes input')]
  address.onsubmit = async (event) => {
    event.preventDefault()
    await send('/api/code', { email: email.value })
    address.hidden = true
    code.hidden = false
  }
  boxes.forEach((box, at) => box.addEventListener('input', async () => {
    if (!/^[0-9]$/.test(box.value)) box.value = ''
    else boxes[at + 1]?.focus()
    if (boxes.some(({ value }) => value === '')) return
    const answer = await send('/api/welcome', { email: email.value, code: boxes.map(({ value }) => value).join('') })
    code.hidden = true
    welcome.hidden = false
    welcome.textContent = answer.welcome
  }))
  ${SEND}
</script>`,
  )
}

const SEND = `async function send(path, body) {
    const response = await fetch(path, { method: 'POST', body: new URLSearchParams(body) })
    if (!response.ok) throw new Error(await response.text())
    return await response.json()
  }`
