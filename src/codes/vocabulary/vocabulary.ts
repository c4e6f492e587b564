/** The script by which a language is recognized; where several languages share one, `common` decides. */
export const SCRIPTS = {
  Latin: /\p{sc=Latin}/u,
  Cyrillic: /\p{sc=Cyrillic}/u,
  Greek: /\p{sc=Greek}/u,
  Hebrew: /\p{sc=Hebrew}/u,
  Arabic: /\p{sc=Arabic}/u,
  Devanagari: /\p{sc=Devanagari}/u,
  Bengali: /\p{sc=Bengali}/u,
  Tamil: /\p{sc=Tamil}/u,
  Thai: /\p{sc=Thai}/u,
  Hangul: /\p{sc=Hangul}/u,
  Han: /\p{sc=Han}/u,
  Kana: /[\p{sc=Hiragana}\p{sc=Katakana}]/u,
}

/**
 * Words of one language for codes and links, and for numbers that only look like codes, separated by bars. Accents and
 * case are folded. `word*` matches any continuation, `*word` the end of a longer word. A word in capitals matches only in
 * capitals. Chinese, Japanese, Korean and Thai words match anywhere, because words are joined there. The English table
 * always applies, so the others need not repeat `pin`, `otp`, `token` or `km`.
 */
export interface Vocabulary {
  script: keyof typeof SCRIPTS
  /** Frequent words by which the language is recognized. */
  common: string
  /** A verification code. */
  code: string
  /** A code only if the number follows directly. */
  secret: string
  /** A verification code, or on a receipt the code of a payment. */
  authorization: string
  /** A receipt. */
  receipt: string
  /** Sales: a code nearby is a discount code. */
  sale: string
  /** Next to a word for code, makes it another kind of code: order, postal, error. */
  other: string
  /** A number that is not a code. */
  number: string
  /** A number of any kind; if the reader is asked to type it, it is a code. */
  neutral: string
  /** Calls and meetings: a code nearby opens the meeting. */
  meeting: string
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
