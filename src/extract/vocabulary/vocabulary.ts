/**
 * Words of one language for codes and links, and for numbers that only look like codes, separated by bars. Accents and
 * case are folded. `word*` matches any continuation, `*word` the end of a longer word. A word in capitals matches only in
 * capitals. Chinese and Japanese words match anywhere, because these languages have no blanks.
 */
export interface Vocabulary {
  /** A verification code. */
  code: string
  /** A code only if the number follows directly. */
  secret: string
  /** Sales: a code nearby is a discount code. */
  sale: string
  /** Next to a word for code, makes it another kind of code: order, postal, error. */
  other: string
  /** A number that is not a code. */
  number: string
  /** The purpose of a code. */
  purpose: string
  /** A request to type something. */
  type: string
  /** Words between a label and its code. */
  is: string
  /** Further words that may be there. */
  particle: string
  /** Units after a number. */
  unit: string
  verify: string
  signIn: string
  reset: string
  unsubscribe: string
  /** Generic link texts: the sentence around the link determines its kind. */
  here: string
}
