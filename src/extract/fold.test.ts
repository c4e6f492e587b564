import { expect, test } from 'vitest'
import { fold } from './fold.ts'

for (const [name, text, expected] of [
  ['plain text stays', 'Code: 12', 'Code: 12'],
  ['accents go', 'Código, vérification, gültig', 'Codigo, verification, gultig'],
  ['Vietnamese is read without its marks', 'Đăng nhập, mật khẩu', 'Dang nhap, mat khau'],
  ['but for the word for code', 'Mã của bạn, irmã', 'Mã cua ban, irma'],
  ['digits of other scripts become ASCII', '٠٩ ۰۹ ०९ ０９', '09 09 09 09'],
  ['full-width letters too', 'Ａｂ：', 'Ab:'],
  ['kana keep their marks', 'ガパード', 'ガパード'],
  ['Arabic loses its vowels and stretch', 'رَمْز ـ', 'رمز '],
  ['what is invisible goes', '4\u200b8\u00ad2\ufeff9', '4829'],
  ['blanks are plain', '482\u00a0913\u3000x', '482 913 x'],
  ['quotes and dashes are plain', '“4–8” ‘x’ …', '"4-8" \'x\' .'],
  ['currencies keep being one', '€ 5 ₽', '¤ 5 ¤'],
  ['pictures are blanks', 'a👋b', 'a  b'],
] as const) {
  test(name, () => expect(fold(text)).toBe(expected))
}

test('lower case has the same length', () => {
  const text = fold('İSTANBUL ẞ Ⅷ ΑΣ ﬁ 漢字')
  expect(text.toLowerCase()).toHaveLength(text.length)
})
