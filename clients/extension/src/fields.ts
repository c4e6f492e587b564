/** What a page says about one of its inputs. */
export interface FieldFacts {
  /** In lower case, as the browser understands it. */
  type: string
  autocomplete: string
  /** -1 if the page sets none. */
  maxLength: number
  /** In pixels. */
  width: number
  /** Name, id, placeholder and labels. */
  words: string
}

const TYPED = new Set(['text', 'tel', 'number', 'password', 'search', 'url', 'email'])
const EMAIL = /e ?mail|courriel|correo|邮箱|邮件|電郵|بريد|البريد/
const CODE =
  /\b(otp|totp|[2m]fa|pin|code|passcode|tan|token)\b|verif|one ?time|einmal|best[äa]tigung|c[óo]digo|验证码|驗證碼|校验码|动态码|رمز|تحقق/
const OTHER_CODE =
  /\b(zip|postal|post|postcode|plz|country|area|dial|promo|coupon|discount|voucher|gift|referral|invite|invitation|captcha|bank|swift|sort|card|cvc|cvv|tax)\b|gutschein|postleitzahl|邮编|优惠|بريدي/
/** A box for one character is about this wide. */
const WIDEST_BOX = 80
const FEWEST_BOXES = 4
const MOST_BOXES = 10

/** The words as words: `verifyCode`, `otp_code` and `e-mail` are two each. */
export function asWords(text: string): string {
  return text
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .replace(/[_\-.[\]:]+/g, ' ')
    .toLowerCase()
}

export function isEmailField({ type, autocomplete, words }: FieldFacts): boolean {
  if (type === 'email' || (TYPED.has(type) && hasToken(autocomplete, 'email'))) return true
  return (type === 'text' || type === 'search') && EMAIL.test(asWords(words))
}

/**
 * Where a code belongs, as positions in the list: one field, or several boxes for one character each. Empty if none of the fields is
 * for a code.
 */
export function codeFields(fields: readonly FieldFacts[]): number[] {
  const candidates = fields.map((field) => TYPED.has(field.type) && field.type !== 'email')
  const named = fields.findIndex(
    (field, at) => candidates[at] && hasToken(field.autocomplete, 'one-time-code'),
  )
  const runs = boxRuns(fields, candidates)
  // In some pages only the first of the boxes is named, and it takes a whole code that is pasted.
  const run = named < 0 ? runs[0] : runs.find((one) => one.includes(named) || one[0] === named + 1)
  if (run) return named >= 0 && !run.includes(named) ? [named, ...run] : run
  if (named >= 0) return [named]
  const plain = fields.findIndex((field, at) => {
    const words = asWords(field.words)
    const isText = candidates[at] && field.type !== 'password'
    return isText && CODE.test(words) && !OTHER_CODE.test(words)
  })
  return plain < 0 ? [] : [plain]
}

function boxRuns(fields: readonly FieldFacts[], candidates: readonly boolean[]): number[][] {
  const runs: number[][] = []
  let run: number[] = []
  for (const [at, field] of fields.entries()) {
    if (!(candidates[at] && isBox(field))) run = []
    else if (run.push(at) === FEWEST_BOXES) runs.push(run)
  }
  return runs.filter(({ length }) => length <= MOST_BOXES)
}

function isBox({ maxLength, width }: FieldFacts): boolean {
  return maxLength === 1 || (maxLength < 0 && width > 0 && width <= WIDEST_BOX)
}

function hasToken(autocomplete: string, token: string): boolean {
  return autocomplete.toLowerCase().split(/\s+/).includes(token)
}

/** The value of each field: the code, or a character each. Undefined if it does not fit. */
export function splitCode(code: string, count: number): string[] | undefined {
  if (count === 1) return [code]
  const characters = [...code]
  return characters.length === count ? characters : undefined
}
