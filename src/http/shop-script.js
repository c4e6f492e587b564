// Runs in the browser, on /pricing and on /orders/…: shop-script.ts puts it into the page.

const FIRST_LOOK_MS = 2_000
const LAST_LOOK_MS = 20_000
const WORDS = {
  open: 'Waiting for the payment',
  pending: 'Payment under way',
  paid: 'Paid',
  failed: 'Payment failed',
  expired: 'Not paid in time',
  refunded: 'Paid back',
  disputed: 'Payment disputed',
}

const FORGETFUL =
  'Your browser keeps nothing for this site. Without that your key could not be shown after the payment: allow it, and try again.'

const page = document.body.dataset.page
const part = (id) => document.getElementById(id)

if (page === 'pricing') sellPlans()
if (page === 'order') showOrder(document.body.dataset.order)

/** The claim secret stays in this tab: it is in no address that a server sees. */
function claimSecrets(order) {
  const name = `mayfly claim ${order}`
  let held = null
  return {
    /** False when the browser does not let us: then it is known until the page is left. */
    keep(secret) {
      held = secret
      try {
        sessionStorage.setItem(name, secret)
        return true
      } catch {
        return false
      }
    },
    find() {
      try {
        return held ?? sessionStorage.getItem(name)
      } catch {
        return null
      }
    },
  }
}

/** The JSON of an answer, or an error with words for people. */
async function ask(path, options) {
  let response
  try {
    response = await fetch(path, { cache: 'no-store', ...options })
  } catch (cause) {
    throw new Error('The site could not be reached. Try again in a moment.', { cause })
  }
  const answer = await response.json()
  if (!response.ok) throw Object.assign(new Error(answer.message), { code: answer.code })
  return answer
}

function sellPlans() {
  const buttons = [...document.querySelectorAll('button[data-plan]')]
  // One order however often the button is pressed; another plan or address is another order.
  const attempts = new Map()
  const free = () => {
    for (const button of buttons) button.disabled = false
  }

  async function buy(button) {
    const email = part('email')
    if (!email.reportValidity()) return
    for (const each of buttons) each.disabled = true
    part('fault').textContent = ''
    try {
      const body = new URLSearchParams({ plan: button.dataset.plan, email: email.value.trim() })
      const wish = String(body)
      if (!attempts.has(wish)) attempts.set(wish, randomText())
      const headers = { 'idempotency-key': attempts.get(wish) }
      const made = await ask('/api/checkout', { method: 'POST', body, headers })
      if (!claimSecrets(made.order_id).keep(made.claim_secret)) throw new Error(FORGETFUL)
      location.assign(made.url)
    } catch (fault) {
      part('fault').textContent = fault.message
      free()
    }
  }

  for (const button of buttons) button.addEventListener('click', () => buy(button))
  part('buy')?.addEventListener('submit', (event) => event.preventDefault())
  // A page that comes back from the browser's memory still has its buttons off.
  addEventListener('pageshow', free)
}

function randomText() {
  return [...crypto.getRandomValues(new Uint8Array(32))]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('')
}

function showOrder(order) {
  const secrets = claimSecrets(order)
  const ofLink = location.hash.slice(1)
  // Not left in the address bar, where it would be shared with the next screenshot.
  if (ofLink && secrets.keep(ofLink)) history.replaceState(null, '', location.pathname)
  const headers = () => ({ 'claim-secret': secrets.find() ?? '' })
  let wait = FIRST_LOOK_MS

  async function look() {
    show('fault', '')
    if (!secrets.find()) {
      show('next', 'This tab does not know the claim secret of this order.')
      reveal('unlock')
      return
    }
    try {
      const state = await ask(`/api/orders/${order}`, { headers: headers() })
      tell(state)
      part('link').href = `#${secrets.find()}`
      if (part('watching').hidden) return
    } catch (fault) {
      show('fault', fault.message)
      if (fault.code === 'not_found') {
        show('next', 'The order could not be opened.')
        reveal('unlock')
        return
      }
    }
    setTimeout(look, wait)
    wait = Math.min(wait * 1.3, LAST_LOOK_MS)
  }

  async function claim() {
    part('show').disabled = true
    show('fault', '')
    try {
      const path = `/api/orders/${order}/claim`
      showKey(await ask(path, { method: 'POST', headers: headers() }))
    } catch (fault) {
      show('fault', fault.message)
      part('show').disabled = false
    }
  }

  part('show').addEventListener('click', claim)
  part('unlock').addEventListener('submit', (event) => {
    event.preventDefault()
    secrets.keep(part('secret').value.trim())
    hide('unlock')
    void look()
  })
  void look()
}

function show(id, text) {
  part(id).textContent = text
}

function reveal(id) {
  part(id).hidden = false
}

function hide(id) {
  part(id).hidden = true
}

function tell(state) {
  part('state').dataset.state = state.state
  show('state', WORDS[state.state])
  show('next', state.next)
  show('plan', state.plan_name)
  show('price', `${state.price.text} ${state.price.term}`)
  show('until', state.paid_until ? `${state.paid_until} UTC` : 'no end')
  show('prefix', state.key_prefix ?? '')
  // Only of what was paid.
  for (const id of ['until', 'prefix']) part(id).closest('div').hidden = state.key_prefix === null
  reveal('facts')
  part('pay').hidden = state.url === null
  if (state.url !== null) part('pay').href = state.url
  part('watching').hidden = state.state !== 'open' && state.state !== 'pending'
  part('back').hidden = part('watching').hidden && !state.claimable
  part('show').hidden = !state.claimable
  show('show', state.claimed_at ? 'Make a new key' : 'Show my key')
}

function showKey({ key, prefix }) {
  for (const id of ['show', 'pay', 'back']) hide(id)
  show('next', 'This is your key. It is shown now and not kept here: put it in a safe place.')
  show('key', key)
  show('prefix', prefix)
  show('line', `curl -H 'APIKey: ${key}' \\\n  ${document.body.dataset.site}/emails`)
  part('save').href = URL.createObjectURL(new Blob([`${key}\n`], { type: 'text/plain' }))
  part('copy').addEventListener('click', copyKey)
  reveal('minted')
  part('minted').focus()
}

async function copyKey() {
  try {
    await navigator.clipboard.writeText(part('key').textContent)
    show('copy', 'Copied')
  } catch {
    // Without https there is no clipboard: the text is marked instead, to be copied by hand.
    getSelection().selectAllChildren(part('key'))
    show('copy', 'Marked: copy it now')
  }
}
