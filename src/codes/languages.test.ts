import { describe, expect, test } from 'vitest'
import { LANGUAGES, languagesOf } from './languages.ts'
import { bulgarian, russian, ukrainian } from './vocabulary/cyrillic.ts'
import { japanese, korean, thai } from './vocabulary/east-asian.ts'
import { finnish, greek, hungarian, turkish } from './vocabulary/european.ts'
import { danish, dutch, english, german, norwegian, swedish } from './vocabulary/germanic.ts'
import { arabic, hebrew, persian } from './vocabulary/middle-eastern.ts'
import { catalan, french, italian, spanish } from './vocabulary/romance.ts'
import { czech, polish, slovak } from './vocabulary/slavic.ts'
import { bengali, hindi, tamil } from './vocabulary/south-asian.ts'
import { indonesian, vietnamese } from './vocabulary/southeast-asian.ts'
import { wordsOf } from './word-finder.ts'

describe('the language of a text is recognized', () => {
  for (const [text, language] of [
    ['Wir haben Ihnen einen Code geschickt, bitte geben Sie ihn ein.', german],
    ['We hebben je een code gestuurd, vul die hieronder in.', dutch],
    ['Vi har skickat en kod till dig, ange den nedan.', swedish],
    ['Vi har sendt dig en kode, du skal indtaste den nedenfor.', danish],
    ['Vi har sendt deg en kode, skriv den inn nedenfor.', norwegian],
    ['Te hemos enviado un código, escríbelo aquí.', spanish],
    ["T'hem enviat un codi, escriu-lo aquí amb el teclat.", catalan],
    ['Nous vous avons envoyé un code, saisissez-le ici.', french],
    ['Ti abbiamo inviato un codice, inseriscilo qui.', italian],
    ['Wysłaliśmy do Ciebie kod, wpisz go poniżej.', polish],
    ['Poslali jsme vám kód, zadejte ho prosím níže.', czech],
    ['Poslali sme vám kód, zadajte ho prosím nižšie.', slovak],
    ['Size bir kod gönderdik, lütfen aşağıya girin.', turkish],
    ['Lähetimme sinulle koodin, syötä se alla.', finnish],
    ['Küldtünk Önnek egy kódot, kérjük, adja meg.', hungarian],
    ['Мы отправили вам код, введите его ниже.', russian],
    ['Ми надіслали вам код, введіть його нижче.', ukrainian],
    ['Изпратихме ви код, моля въведете го.', bulgarian],
    ['أرسلنا لك رمزًا، أدخله هنا من فضلك.', arabic],
    ['برای شما کدی فرستادیم، لطفاً آن را وارد کنید.', persian],
    ['Kami telah mengirim kode, silakan masukkan di bawah ini.', indonesian],
    ['Chúng tôi đã gửi mã cho bạn, hãy nhập vào đây.', vietnamese],
  ] as const) {
    test(text, () => expect(languagesOf([text])).toContain(language))
  }

  for (const [text, language] of [
    ['Κωδικός', greek],
    ['קוד', hebrew],
    ['कोड', hindi],
    ['কোড', bengali],
    ['குறியீடு', tamil],
    ['รหัส', thai],
    ['코드', korean],
    ['コード', japanese],
  ] as const) {
    test(`by its script: ${text}`, () => {
      expect(languagesOf([text])).toEqual([english, language])
    })
  }

  test('and others are left out', () => {
    const found = languagesOf(['Wir haben Ihnen einen Code geschickt, bitte geben Sie ihn ein.'])
    expect(found).toEqual([english, german])
  })
})

describe('each table', () => {
  const tables = LANGUAGES.map((language) => [language.code.slice(0, 20), language] as const)

  for (const [name, language] of tables) {
    test(`has wildcards only at the ends of words, and each word once: ${name}`, () => {
      const { script: _, ...lists } = language
      const wrong = Object.entries(lists).flatMap(([kind, words]) => {
        const written = words.split('|').map((word) => word.trim())
        const inside = written.filter((word) => /\S\*\S|\* | \*/.test(word))
        const twice = written.filter((word, at) => word !== '' && written.indexOf(word) !== at)
        return [...inside, ...twice].map((word) => `${kind}: ${word}`)
      })
      expect(wrong).toEqual([])
    })

    test(`gives each label one meaning: ${name}`, () => {
      const labels = (['code', 'sale', 'meeting', 'secret', 'type', 'number'] as const).flatMap(
        (kind) => [...wordsOf(kind, language)].map((word) => ({ word, kind })),
      )
      const byWord = Map.groupBy(labels, ({ word }) => word)
      expect([...byWord.values()].filter(({ length }) => length > 1)).toEqual([])
    })

    test(`has no unit that may also follow a code: ${name}`, () => {
      const units = [...wordsOf('unit', language)]
      expect(units.filter((unit) => wordsOf('is', language).has(unit))).toEqual([])
    })
  }
})
