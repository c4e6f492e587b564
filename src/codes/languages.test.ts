import { describe, expect, test } from 'vitest'
import { languagesOf } from './languages.ts'
import { LANGUAGES } from './vocabulary.ts'
import { wordsOf } from './word-finder.ts'

describe('the language of a text is recognized', () => {
  for (const [text, language] of [
    ['Wir haben Ihnen einen Code geschickt, bitte geben Sie ihn ein.', 'de'],
    ['We hebben je een code gestuurd, vul die hieronder in.', 'nl'],
    ['Vi har skickat en kod till dig, ange den nedan.', 'sv'],
    ['Vi har sendt dig en kode, du skal indtaste den nedenfor.', 'da'],
    ['Vi har sendt deg en kode, skriv den inn nedenfor.', 'no'],
    ['Te hemos enviado un código, escríbelo aquí.', 'es'],
    ["T'hem enviat un codi, escriu-lo aquí amb el teclat.", 'ca'],
    ['Nous vous avons envoyé un code, saisissez-le ici.', 'fr'],
    ['Ti abbiamo inviato un codice, inseriscilo qui.', 'it'],
    ['Wysłaliśmy do Ciebie kod, wpisz go poniżej.', 'pl'],
    ['Poslali jsme vám kód, zadejte ho prosím níže.', 'cs'],
    ['Poslali sme vám kód, zadajte ho prosím nižšie.', 'sk'],
    ['Size bir kod gönderdik, lütfen aşağıya girin.', 'tr'],
    ['Lähetimme sinulle koodin, syötä se alla.', 'fi'],
    ['Küldtünk Önnek egy kódot, kérjük, adja meg.', 'hu'],
    ['Мы отправили вам код, введите его ниже.', 'ru'],
    ['Ми надіслали вам код, введіть його нижче.', 'uk'],
    ['Изпратихме ви код, моля въведете го.', 'bg'],
    ['أرسلنا لك رمزًا، أدخله هنا من فضلك.', 'ar'],
    ['برای شما کدی فرستادیم، لطفاً آن را وارد کنید.', 'fa'],
    ['Kami telah mengirim kode, silakan masukkan di bawah ini.', 'id'],
    ['Chúng tôi đã gửi mã cho bạn, hãy nhập vào đây.', 'vi'],
  ] as const) {
    test(text, () => expect(languagesOf([text])).toContain(LANGUAGES[language]))
  }

  for (const [text, language] of [
    ['Κωδικός', 'el'],
    ['קוד', 'he'],
    ['कोड', 'hi'],
    ['কোড', 'bn'],
    ['குறியீடு', 'ta'],
    ['รหัส', 'th'],
    ['코드', 'ko'],
    ['コード', 'ja'],
  ] as const) {
    test(`by its script: ${text}`, () => {
      expect(languagesOf([text])).toEqual([LANGUAGES.en, LANGUAGES[language]])
    })
  }

  test('and others are left out', () => {
    const found = languagesOf(['Wir haben Ihnen einen Code geschickt, bitte geben Sie ihn ein.'])
    expect(found).toEqual([LANGUAGES.en, LANGUAGES.de])
  })
})

describe('each table', () => {
  for (const [name, language] of Object.entries(LANGUAGES)) {
    test(`has wildcards only at the ends of words, and each word once: ${name}`, () => {
      const { script: _, ...lists } = language
      const wrong = Object.entries(lists).flatMap(([kind, words]) => {
        const written = words.split(', ')
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
