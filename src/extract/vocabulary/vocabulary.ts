/**
 * How people name codes and links, and what they name that only looks like a code. Words are parted by bars and
 * written as usual; accents and case are folded. A star at the end: the word may go on. A star at the start: it may be
 * the end of a longer word. In capitals: only so. Chinese and Japanese have no blanks, so theirs are found anywhere.
 */
export interface Vocabulary {
  /** Names a code that somebody is to type in. */
  code: string
  /** Names one only where the code follows at once. */
  secret: string
  /** Sells something: a code beside it is worth a discount. */
  sale: string
  /** Beside a word for a code it makes another kind of code: of an order, a post office, an error. */
  other: string
  /** Names a number that is no code. */
  number: string
  /** Says what codes are for; no name of one. */
  purpose: string
  /** Tells to type something in. */
  type: string
  /** Stands between a name and its code. */
  is: string
  /** Small words that may stand there beside it. */
  particle: string
  /** What a number counts or measures, after it. */
  unit: string
  verify: string
  signIn: string
  reset: string
  unsubscribe: string
  /** A link's text that says nothing: the sentence around it does. */
  here: string
}
