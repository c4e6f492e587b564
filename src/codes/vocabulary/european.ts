import type { Vocabulary } from './vocabulary.ts'

export const turkish: Vocabulary = {
  script: 'Latin',
  common: `bu|için|ve|ile|bir|değil|siz|sizin|lütfen|merhaba|eğer|veya|olarak|teşekkürler|hesabınız|hesabınıza|hesabınızı
    |sayın|talep|etmediyseniz|sevgiler|saygılarımızla|iyi|kimseyle|kimse|aşağıdaki|sonra|kadar|tarafından|de|da|size|içinde
    |olan|yapmadıysanız|hesap|en|ya`,
  code: `sms şifresi|sms şifreniz|sms şifren|rakamları|rakamlarını|rakamlar|*kod|kodu|kodun|kodunu|kodunuz|kodunuzu
    |kodunuzun|kodum|kodlar|koda|kodla|*kodu|*kodunuz|tek kullanımlık şifre*|tek kullanımlık parola*|geçici şifre*
    |geçici parola*|doğrulama numarası|onay numarası|6 haneli|altı haneli|4 haneli|dört haneli|5 haneli|8 haneli
    |aşağıdaki rakamları|aşağıdaki sayıyı|şifreniz|parolanız`,
  secret: 'şifre*|parola*|anahtar',
  authorization: 'onay kodu*|provizyon kodu*|otorizasyon kodu*',
  receipt: 'fiş|fişi|fişiniz|makbuz*|terminal*|slip',
  sale: `indirim*|kupon*|promosyon*|kampanya*|hediye*|çek|hediye çeki|fırsat*|davet*|tasarruf*|puan kazan*`,
  other: `posta|barkod*|sipariş*|rezervasyon*|kargo|takip|fatura|müşteri|ürün|stok|hata|kaynak|ülke|alan|renk|ceza|uçuş
    |bilet|sözleşme|abone|mağaza|şube|kurum|banka|öğrenci|üye|personel|pnr|karekod|iade|paket|gönderi|sertifika|standart
    |çıkış|dönüş|durum`,
  number: `sipariş*|no|numara*|numarası|numaranız|referans|hesap no|hesap numara*|son dört hanesi|son 4 hanesi|ile biten
    |biten|telefon*|tel|arayın|ara|çağrı merkezi|faks|oda|koltuk|uçuş|tren|vagon|bilet*|model|sürüm|versiyon|vkn|vergi
    |tc|işlem*|talep no|talep numara*|dosya|cadde*|cad|sokak|sok|mahalle*|mah|kat|daire|yıl*|tutar*|toplam|bakiye*|puan*
    |poliçe*|kart*|gönderi*|kargo*|paket*|rezervasyon*|fatura*|fiş|müşteri*|üye*|ücret*|madde|terminal|iş yeri|işyeri`,
  neutral: 'numara|numarayı|numarasını|sayı|sayıyı|no',
  meeting: 'toplantı*|görüntülü görüşme*|video konferans*|konferans*|web semineri|webinar*',
  purpose: `doğrula*|onay*|giriş*|oturum*|kimli*|tek kullanımlık|etkinleştir*|aktivasyon*|geçerli*|süresi|sona er*
    |paylaşmayın*|paylaşma*|girin*|gir|güvenlik*|erişim*|kayıt*|iki adımlı|iki aşamalı|iki faktörlü|sıfırla*`,
  type: `girin|giriniz|gir|girerek|yazın|yazınız|yaz|tuşlayın|kopyalayın|yapıştırın|kullanın|kullanınız|kullanarak
    |girebilirsin|girebilirsiniz|girmen|girmeniz|girmelisin|yazman|yazmanız|yazarak|yazıp|yazabilirsiniz|tuşla|tuşlayınız
    |tuşlayarak|kullan|kullanman|kullanmanız|kullanabilirsin|kullanabilirsiniz|kopyala|yapıştır|belirtin`,
  is: 'şudur|aşağıdadır|aşağıdaki gibidir|olarak|şöyle|budur|aşağıda',
  particle: `için|ve|ile|bu|sizin|hesabınız|olan|giriş|doğrulama|onay|güvenlik|sms|tek|kullanımlık|şu`,
  unit: `saniye*|dakika*|dk|saat*|gün*|hafta*|ay|aylık|yıl*|tl|lira*|try|kuruş|euro|avro|puan*|km|kg|kez|kişi*|kullanıcı*
    |karakter*|adet|metre*|üye`,
  verify: `doğrula*|onayla*|etkinleştir*|aktive et*|aktifleştir*|kaydı tamamla*|kaydınızı tamamla*|daveti kabul et*`,
  signIn: 'giriş yap*|oturum aç*|giriş|sihirli bağlantı|giriş bağlantısı',
  reset: `sıfırla*|yeni şifre*|yeni parola*|şifreni değiştir*|şifrenizi değiştir*|parolanızı değiştir*|şifremi unuttum
    |parolamı unuttum|kurtar*`,
  unsubscribe: `abonelikten çık*|abonelik iptal*|aboneliği iptal*|listeden çık*|e-posta tercih*|bildirim ayar*
    |almak istemiyor*|üyelikten ayrıl*`,
  here: `buraya|burada|buradan|tıklayın|buraya tıklayın|buradan tıklayın|bu bağlantı|bağlantı|bağlantıya|düğme|butona|buton
    |devam|devam et|aç`,
}

export const finnish: Vocabulary = {
  script: 'Latin',
  common: `on|ei|ja|että|jos|sinun|olet|tämä|tämän|tai|hei|kiitos|ystävällisin|terveisin|voit|ole|et|älä|kun|se|sen|oli
    |kanssa|mutta|myös|jotta|sinulle|meidän|tätä|vain|alla|seuraava|seuraavan|tilisi|ette|teidän|olette|kenellekään|viesti
    |pyytänyt`,
  code: `numerosarja|numerot|*koodi|*koodin|*koodia|*koodisi|*koodilla|*koodinne|*koodit|kertakäyttösalasana*
    |kertakäyttöinen salasana|väliaikainen salasana|tunnusluku*|tunnusluvu*|avainluku|avainlukusi|kuusinumeroi*|6-numeroi*
    |nelinumeroi*|4-numeroi*|kuusi numeroa|neljä numeroa|seuraavat numerot|numerosarja*|vahvistusnumero*|pin-koodi*`,
  secret: 'salasana|salasanasi|avain',
  authorization: 'valtuutuskoodi*|katevarmennuskoodi*',
  receipt: 'kuitti|kuittisi|maksupääte',
  sale: `alennus*|alennuskoodi*|kampanja*|kampanjakoodi*|lahjakort*|lahjakoodi*|tarjous*|etu|etukoodi*|kuponki*
    |kuponkikoodi*|säästä*|ale|suosittelukoodi*|etukuponki*`,
  other: `postinumero*|viivakoodi*|varauskoodi*|varaustunnus*|virhekoodi*|lähdekoodi*|maakoodi*|tuotekoodi*|värikoodi*
    |pukukoodi*|qr-koodi*|asiakaskoodi*|tilauskoodi*|seurantakoodi*|lähetyskoodi*|lähetystunnus*|pankkikoodi*
    |viitekoodi*|suuntanumero*|lippukoodi*|noutokoodi mainos|pakettikoodi*|lentokoodi*|sertifikaattikoodi*|paluukoodi*
    |tilakoodi*|poistumiskoodi*`,
  number: `tilau*|tilausnumero*|lasku*|laskunumero*|*numero|*numerosi|nro|asiakas*|tili|tilinumero*|päättyvä|päättyy
    |viimeiset neljä numeroa|viimeiset 4 numeroa|puhelin*|puh|soita|gsm|faksi|huone|paikka|lento|juna|vaunu|malli|versio
    |y-tunnus|alv|viite|viitenumero*|tapaus*|vakuutus*|paketti*|lähety*|seurantatunnus*|varau*|lippu*|summa|yhteensä
    |maksettava|saldo|piste*|vuosi|vuodesta|*katu|*tie|pl|jäsen*|kuitti*|artikla|pykälä|pääte|kortti`,
  neutral: 'numero|numeron|numerolla|luku|nro',
  meeting: 'kokou*|videokokou*|videopuhelu*|neuvottelu*|konferenssi*|webinaari*',
  purpose: `vahvist*|todenn*|tunnist*|kirjaud*|kirjaut*|kertakäyttö*|aktivo*|vanhenee|vanhentuu|voimassa|älä jaa|älä anna
    |syötä|kirjoita|henkilöllisyy*|turvallisuu*|turva*|pääsy|rekisteröi*|kaksivaihei*|salasanan`,
  type: `syötä|syöttää|syöttämällä|kirjoita|näppäile|kopioi|liitä|käytä|käyttämällä|täytä|syötät|syöttäkää|syöttäisitkö
    |kirjoittamalla|kirjoitat|näppäilemällä|annat|antamalla|kopioimalla|käytät|täytät|ilmoita|käyttäkää`,
  is: 'on|on seuraava|seuraava|alla|ovat',
  particle: `sinun|teidän|tämä|ja|palveluun|tilillesi|tiliisi|kirjautumiseen|varten|henkilökohtainen|väliaikainen|uusi|tili`,
  unit: `sekun*|minuu*|min|tunti*|tunnin|tuntia|t|päivä*|vrk|viikko*|viikon|kuukau*|vuosi|vuotta|vuoden|euro*|eur|piste*|km
    |kg|kertaa|henkilö*|käyttäj*|merkki*|kpl|metri*|prosent*`,
  verify: 'vahvist*|varmista*|aktivo*|viimeistele rekisteröity*|hyväksy kutsu',
  signIn: 'kirjaudu|kirjaudu sisään|kirjautumi*|kirjautuaksesi',
  reset: `palauta salasana*|vaihda salasana*|uusi salasana|nollaa*|unohdi*|salasanan vaihto|salasanan palautus
    |aseta uusi salasana`,
  unsubscribe: `peruuta tilaus|peru tilaus|peruuttaa tilauksen|lopeta tilaus|et halua enää|sähköpostiasetu*|ilmoitusasetu*
    |poistu listalta|hallinnoi*`,
  here: `tästä|tähän|täällä|klikkaa tästä|napsauta tätä|tämä linkki|linkki|linkkiä|painike|painiketta|jatka|avaa|katso`,
}

export const hungarian: Vocabulary = {
  script: 'Latin',
  common: `nem|és|hogy|ez|az|ha|ön|vagy|köszönjük|köszönöm|kedves|üdvözlettel|kérjük|szia|a|egy|meg|is|volt|van|ezt|ennek
    |önnek|önt|fiók|fiókja|fiókjába|fiókod|fiókjához|már|csak|még|senkivel|senkinek|el|tisztelt|kérte|kérted|alábbi|be|ki|le
    |te|hozzá|során|ne`,
  code: `számjegyek|számjegyeket|számsor|számsort|kód|kódja|kódod|kódot|kódját|kódodat|kóddal|kódok|*kód|*kódja|*kódod
    |*kódot|*kódját|egyszer használatos jelszó*|egyszeri jelszó*|ideiglenes jelszó*|hat számjegy*|6 számjegy*|négy számjegy*
    |4 számjegy*|hatjegyű|6 jegyű|négyjegyű|4 jegyű|alábbi számokat|alábbi számsort|ellenőrző szám`,
  secret: 'jelszó|jelszava|jelszavad|kulcs',
  authorization: 'engedélyezési kód*|engedélykód*',
  receipt: 'nyugta|bizonylat|terminál*',
  sale: `kedvezmény*|kedvezménykód*|kupon*|kuponkód*|promóció*|promo*|promóciós kód*|ajándék*|utalvány*|utalványkód*|akció*
    |leárazás*|meghívókód*|ajánlókód*|megtakarít*`,
  other: `irányítószám*|vonalkód*|rendeléskód*|foglalási kód*|foglalás|foglalási|rendelési|követési|követő|nyomkövetési
    |nyomkövető|csomagkód*|számla|ügyfélkód*|ügyfél|termékkód*|cikkszám*|hibakód*|hiba|forráskód*|forrás|országkód*
    |színkód*|qr-kód*|qr|dress code|magatartási|körzetszám*|szerződés|bankkód*|jegykód*|üzletkód*|büntető|swift
    |járatkód*|küldeménykód*|tanúsítványkód*|visszatérési|kilépési|állapotkód*|polgári|csomag`,
  number: `rendelés*|rendelésszám*|számla*|számlaszám*|sorszám*|szám|száma|számú|azonosító*|hivatkozás*|ügyfél*|végződő
    |végű|utolsó négy számjegye|utolsó 4 számjegye|telefon*|tel|hívja|hívjon|mobil|fax|szoba|ülés|hely|járat*|vonat
    |kocsi|jegy*|modell|verzió|adószám*|cégjegyzék*|tranzakció*|kérelem|ügyszám*|ügy|utca|út|tér|emelet|év|óta|összeg*
    |összesen|végösszeg*|fizetendő|egyenleg*|pont*|kötvény*|kártya*|csomag*|csomagszám*|küldemény*|foglalás*|nyugta*
    |tag*|szerződés*|cikk|cikkely|terminál*|kereskedő`,
  neutral: 'szám|számot|számsor|számsort',
  meeting: `értekezlet*|megbeszélés*|videóhívás*|videokonferenci*|konferenci*|webinár*|meeting azonosító`,
  purpose: `ellenőr*|megerősít*|igazol*|visszaigazol*|bejelentkez*|belép*|hitelesít*|egyszer használatos|egyszeri|aktivál*
    |lejár*|érvényes*|ne ossza meg|ne oszd meg|senkivel|adja meg|add meg|írja be|írd be|személyazonosság*|biztonság*
    |hozzáfér*|regisztrá*|kétlépcsős|kétfaktoros|jelszó-visszaállít*`,
  type: `adja meg|add meg|adja|írja be|írd be|írja|írd|gépelje be|üsse be|másolja|illessze be|használja|használd|megadása
    |beírása|megadni|megadásával|beírni*|beírásával|beütni|üsd be|gépeld be|másold|illeszd be|használatával|felhasználva
    |adjuk meg|írjátok be|vigye be|vidd be`,
  is: 'a következő|következő|az alábbi|alábbi|ez|lent',
  particle: `a|az|ön|önnek|te|és|egy|ehhez|bejelentkezéshez|belépéshez|fiókjához|fiókodhoz|megerősítéshez|ideiglenes|új
    |személyes`,
  unit: `másodperc*|mp|perc*|óra|órá*|óráig|nap|nap*|hét|hét*|hónap*|év*|forint*|ft|huf|euró*|pont*|km|kg|alkalom*
    |alkalommal|fő|ember|felhasználó*|karakter*|db|darab|méter*|százalék`,
  verify: `megerősít*|erősítse meg|erősítsd meg|ellenőr*|igazol*|aktivál*|fejezze be a regisztrációt|regisztráció befejezése
    |meghívó elfogadása|hitelesít*`,
  signIn: 'bejelentkez*|jelentkezz be|jelentkezzen be|belép*|lépjen be|lépj be',
  reset: `visszaállít*|új jelszó|jelszó módosítása|jelszócsere|jelszó megváltoztatása|változtassa meg a jelszavát
    |elfelejtett*|elfelejtette|helyreállít*`,
  unsubscribe: `leiratkoz*|iratkozzon le|iratkozz le|nem szeretne több|nem kíván|értesítési beállítások|e-mail beállítások
    |feliratkozás lemondása`,
  here: `itt|ide|kattintson ide|kattints ide|ez a link|link|linkre|hivatkozás|gomb|gombra|tovább|folytatás|megnyitás
    |megtekintés`,
}

export const greek: Vocabulary = {
  script: 'Greek',
  common: `δεν|και|να|το|για|με|σας|σου|αν|εάν|από|που|είναι|στο|στη|στην|στον|του|της|τον|την|τα|ή|γεια|ευχαριστούμε
    |παρακαλούμε|μην|έχετε|εσείς|αυτό|αυτόν|αυτή|κανέναν|σε|ο|η|οι|ζητήσατε`,
  code: `ψηφία|συνδυασμό|κωδικός|κωδικό|κωδικού|κωδικοί|κωδικούς|κωδ|κώδικας|κώδικα|συνθηματικό μίας χρήσης
    |συνθηματικό μιας χρήσης|προσωρινός κωδικός|εξαψήφιο*|6ψήφιο*|6-ψήφιο*|τετραψήφιο*|4ψήφιο*|4-ψήφιο*|έξι ψηφία|6 ψηφία
    |τέσσερα ψηφία|4 ψηφία|παρακάτω ψηφία|αριθμό επαλήθευσης|αριθμός επαλήθευσης`,
  secret: 'συνθηματικό|κλειδί',
  authorization: 'κωδικός έγκρισης|κωδικός εξουσιοδότησης',
  receipt: 'απόδειξη|τερματικό',
  sale: `έκπτωση|έκπτωσης|εκπτωτικ*|εκπτώσεις|προσφορ*|κουπόνι*|κουπονιού|δωροκάρτα*|δώρο|δώρου|δωροεπιταγ*|προωθητικ*
    |κέρδισε*|εξοικονομ*|πρόσκλησης φίλου`,
  other: `ταχυδρομικ*|γραμμωτ*|παραγγελίας|κράτησης|αποστολής|εντοπισμού|παρακολούθησης|τιμολογίου|πελάτη|προϊόντος
    |σφάλματος|πηγαί*|χώρας|χρώματος|ποινικ*|δεοντολογίας|εισιτηρίου|πτήσης|συμβολαίου|συνδρομητή|καταστήματος|τράπεζας
    |μέλους|ενδυμασίας|πληρωμής rf|οδικής|δέματος|πιστοποίησης|πιστοποιητικού|προτύπου|εξόδου|επιστροφής|κατάστασης
    |αστικ*`,
  number: `παραγγελί*|αριθμός|αριθμό|αρ|αναφορ*|λογαριασμ*|συμβόλαι*|που λήγει σε|λήγει σε|τελευταία 4 ψηφία
    |τελευταία τέσσερα ψηφία|τηλέφωνο|τηλ|καλέστε|κινητό|φαξ|δωμάτιο|θέση|πτήση*|τρένο|εισιτήρι*|μοντέλο|έκδοση|αφμ
    |α.φ.μ|συναλλαγ*|αίτημα|αίτηση*|υπόθεση*|οδός|λεωφόρος|λεωφ|τκ|τ.κ|έτος|από το|ποσό|σύνολο|υπόλοιπο|πόντοι|πόντους
    |κάρτα*|δέμα|δέματος|αποστολ*|κράτηση*|τιμολόγι*|απόδειξη*|πελάτη*|μέλος|φάκελο*|άρθρο|τερματικό`,
  neutral: 'αριθμός|αριθμό',
  meeting: 'συνάντηση*|σύσκεψη*|τηλεδιάσκεψη*|βιντεοκλήση*|διάσκεψη*|διαδικτυακό σεμινάριο',
  purpose: `επαλήθευσ*|επαληθεύ*|επιβεβαί*|επιβεβαιώ*|σύνδεσ*|συνδεθ*|είσοδ*|αυθεντικοπο*|ταυτοποί*|μίας χρήσης|μιας χρήσης
    |ενεργοπο*|λήγει|ισχύει|έγκυρος|μην τον κοινοποι*|μην κοινοποι*|μην μοιραστ*|μην τον μοιρ*|εισάγετε|εισαγάγετε
    |πληκτρολογ*|ταυτότητ*|ασφάλει*|ασφαλεί*|πρόσβασ*|εγγραφ*|δύο παραγόντων|δύο βημάτων|επαναφορ*`,
  type: `εισάγετε|εισαγάγετε|εισάγεις|πληκτρολογήστε|πληκτρολόγησε|γράψτε|αντιγράψτε|επικολλήστε|χρησιμοποιήστε
    |χρησιμοποίησε|συμπληρώστε|βάλε|βάλτε|εισαγωγή|εισάγοντας|πληκτρολογώντας|γράψε|γράφοντας|χρησιμοποιώντας|αντίγραψε
    |δώστε|δώσε|καταχωρίστε|καταχωρήστε|καταχώρισε|συμπλήρωσε|βάζοντας`,
  is: 'είναι|είναι ο εξής|εξής|παρακάτω|ακολουθεί|ο ακόλουθος|ακόλουθος',
  particle: `για|σας|σου|ο|η|το|του|της|την|τον|στο|στη|στην|με|και|ένας|νέος|προσωρινός|μοναδικός|σε`,
  unit: `δευτερόλεπτ*|λεπτ*|ώρα|ώρες|ωρών|ημέρ*|μέρες|εβδομάδ*|μήν*|έτη|χρόνια|ευρώ|πόντ*|χλμ|χμ|κιλά|φορές|άτομα|χρήστες
    |χαρακτήρ*|τεμ|τεμάχια|μέτρα|μέλη`,
  verify: `επαλήθευ*|επιβεβαί*|επιβεβαιώ*|ενεργοπο*|ολοκλήρωση εγγραφής|ολοκληρώστε την εγγραφή|αποδοχή πρόσκλησης`,
  signIn: 'σύνδεση|συνδεθείτε|συνδέσου|είσοδος|για να συνδεθείτε',
  reset: `επαναφορ*|επαναφέρ*|νέος κωδικός|νέο κωδικό|αλλαγή κωδικού|αλλάξτε τον κωδικό|ξεχάσατε|ανάκτησ*`,
  unsubscribe: `διαγραφή από τη λίστα|κατάργηση εγγραφής|απεγγραφ*|διαγραφείτε|να μη λαμβάνετε|ρυθμίσεις ειδοποιήσεων
    |προτιμήσεις email`,
  here: `εδώ|κάντε κλικ εδώ|πατήστε εδώ|αυτόν τον σύνδεσμο|σύνδεσμος|σύνδεσμο|κουμπί|συνέχεια|άνοιγμα|δείτε`,
}

export const estonian: Vocabulary = {
  script: 'Latin',
  common: `ei|ja|et|kui|teie|sinu|oled|see|selle|või|tere|aitäh|tervitades|palun|te|on|ole|ärge|ära|kes|ka|oma|seda
    |lugupidamisega|konto|kontole|sa|me|meie|kellelegi|allpool|siis|mis|taotlenud|kirja`,
  code: `numbrid|numbreid|*kood|*koodi|*koodid|*koodiga|ühekordne parool|ühekordset parooli|ajutine parool|kuuekohali*
    |6-kohali*|neljakohali*|4-kohali*|kuus numbrit|6 numbrit|neli numbrit|4 numbrit|järgmised numbrid|pin-kood*`,
  secret: 'parool|parooli|võti',
  authorization: 'autoriseerimiskood*',
  receipt: 'kviitung*|tšekk|terminal*',
  sale: `soodus*|sooduskood*|allahindlus*|kampaania*|kinkekaar*|kinkekood*|kupong*|pakkumi*|säästa*|soodustus*|sooduskupong*`,
  other: `sihtnumber|postikood|triipkood*|ribakood*|tellimuskood*|tellimuse|broneeringukood*|jälgimiskood*|saadetis*
    |arve|kliendikood*|tootekood*|veakood*|lähtekood*|riigikood*|värvikood*|qr-kood*|riietumisstiil|isikukood*
    |registrikood*|suunakood*|piletikood*|viitenumber|pakikood*|saadetisekood*|lennukood*|sertifikaadi*|tagastuskood*
    |olekukood*|väljumiskood*`,
  number: `tellimu*|arve*|*number|nr|kliendi*|konto number|lõpeb|lõppev|viimased neli numbrit|viimased 4 numbrit
    |telefon*|tel|helista*|faks|tuba|koht|lend|rong|vagun|mudel|versioon|kmkr|viite*|juhtum*|pakk*|paki*|saadetis*
    |broneering*|pilet*|summa|kokku|saldo|punkt*|aasta|*tänav|tn|mnt|liikme*|kviitung*|leping*|artikkel|paragrahv
    |terminal*|kaart`,
  neutral: 'number|numbri|numbrit|nr',
  meeting: 'koosolek*|videokõne*|konverents*|veebiseminar*|kohtumi*',
  purpose: `kinnit*|tuvast*|sisselogi*|logi sisse|logige sisse|autenti*|ühekordne|ühekordse*|aktiveeri*|aegub|kehtib|kehtiv*
    |ära jaga|ärge jagage|sisesta*|isiku*|turva*|juurdepääs*|registreeri*|kaheastmeli*`,
  type: `sisesta|sisestage|kirjuta|kirjutage|trüki|kopeeri|kopeerige|kleebi|kasuta|kasutage|sisestades|sisestama|kirjutades
    |trükkige|kasutades|tippige|tipi|lisa|lisage`,
  is: 'on|on järgmine|järgmine|allpool',
  particle: 'teie|sinu|see|ja|konto|kontole|sisselogimiseks|kinnitamiseks|ajutine|uus',
  unit: `sekund*|minut*|min|tund*|tunni|päev*|nädal*|kuu*|aasta*|euro*|eur|punkt*|km|kg|korda|inimest|kasutaja*|märki|tk
    |meetri*|protsent*`,
  verify: 'kinnit*|aktiveeri*|lõpeta registreeri*|võta kutse vastu',
  signIn: 'logi sisse|logige sisse|sisselogimi*',
  reset: 'lähtesta*|uus parool|muuda parool*|muutke parool*|unustasid|unustasite|taasta*',
  unsubscribe: 'loobu*|tühista tellimus|ei soovi enam|teavituste seaded|eemalda mind',
  here: 'siin|siia|klõpsa siin|vajuta siia|see link|link|lingil|nupp|nupul|jätka|ava|vaata',
}

export const lithuanian: Vocabulary = {
  script: 'Latin',
  common: `ne|ir|kad|jei|jūsų|tavo|esate|šis|ši|šio|šį|arba|sveiki|labas|ačiū|dėkojame|pagarbiai|prašome|yra|buvo|su|iš|nuo
    |tai|mes|jums|niekam|žemiau|savo|kuris|paskyros|paskyrą|prie|dėl|jūs|neprašėte|gavote|laiškas|per`,
  code: `skaitmenys|skaitmenis|kodas|kodą|kodo|kodu|kodai|kodus|vienkartinis slaptažodis|vienkartinį slaptažodį
    |laikinas slaptažodis|šešiaženkl*|6 skaitmenų|šeši skaitmenys|keturženkl*|4 skaitmenų|šie skaitmenys|šiuos skaitmenis`,
  secret: 'slaptažodis|slaptažodį|raktas',
  authorization: 'autorizacijos kod*',
  receipt: 'kvitas|čekis|terminal*',
  sale: `nuolaid*|akcij*|akcijos|kupon*|dovan*|čekis|pasiūlym*|išpardavim*|promo*|sutaup*|rekomendac*`,
  other: `pašto|brūkšninis|užsakymo|rezervacijos|siuntos|sekimo|sąskaitos|kliento|prekės|produkto|klaidos|šaltinio
    |šalies|spalvos|bilieto|skrydžio|sutarties|įmonės|asmens|parduotuvės|mokėtojo|qr|aprangos|nario|siuntinio
    |sertifikato|sertifikavimo|standarto|grąžinimo|būsenos|baudžiam*|civilin*`,
  number: `užsakym*|nr|numeris|numerį|sąskait*|klient*|sutart*|kuri baigiasi|baigiasi|paskutiniai keturi skaitmenys
    |paskutiniai 4 skaitmenys|telefon*|tel|skambinkite|mob|faksas|kambarys|vieta|skrydis|skrydžio|traukinys|biliet*
    |modelis|versija|pvm|operacij*|prašym*|byl*|gatvė|g|metai|nuo|suma|iš viso|likutis|tašk*|polis*|kortel*|siunt*
    |rezervacij*|kvit*|nari*|straipsn*|terminal*`,
  neutral: 'numeris|numerį|skaičių|nr',
  meeting: 'susitikim*|vaizdo skambut*|konferencij*|vebinar*|internetinis seminaras',
  purpose: `patvirtin*|patikrin*|prisijung*|autentif*|tapatyb*|vienkartin*|aktyv*|galioja|galiojim*|nesidalinkite|niekam
    |įves*|įveskite|saug*|prieig*|registr*|dviejų veiksnių|dviejų žingsnių|atkūrim*`,
  type: `įveskite|įvesk|įvesti|įrašykite|nukopijuokite|įklijuokite|naudokite|panaudokite|įvesdami|įvedę|įvedant|įvedate
    |įrašyk|įrašę|surinkite|naudok|naudodami|panaudok|nurodykite|nukopijuok`,
  is: 'yra|yra toks|toks|žemiau|šis',
  particle: `jūsų|tavo|prie|į|ir|šis|su|skirtas|laikinas|naujas|paskyros|prisijungimui|vienkartinis`,
  unit: `sekund*|minut*|min|valand*|val|dien*|savait*|mėnes*|metus|metų|metai|eur*|tašk*|km|kg|kart*|žmon*|vartotoj*|simbol*
    |vnt|metr*|procent*`,
  verify: 'patvirtin*|aktyv*|baigti registracij*|baikite registracij*|priimti kvietimą',
  signIn: 'prisijung*|prisijungimo nuoroda',
  reset: `atkurti*|atkurkite|naujas slaptažodis|keisti slaptažodį|pakeiskite slaptažodį|pakeisti slaptažodį|pamiršote
    |atstat*`,
  unsubscribe: `atsisakyti prenumeratos|atsisakykite|atšaukti prenumeratą|nebenorite gauti|pranešimų nustatymai|atsisak*`,
  here: 'čia|spauskite čia|ši nuoroda|nuoroda|nuorodą|mygtukas|mygtuką|tęsti|atidaryti|žiūrėti',
}

export const latvian: Vocabulary = {
  script: 'Latin',
  common: `ne|un|ka|ja|jūsu|tavs|esat|šis|šī|šo|vai|sveiki|labdien|paldies|cieņā|lūdzu|ir|bija|ar|no|tas|mēs|jums|nevienam
    |zemāk|savu|kas|konta|kontu|pie|par|jūs|nepieprasījāt|saņēmāt|vēstule|tiks|lai|pēc`,
  code: `cipari|ciparus|kods|kodu|koda|kodam|kodi|kodus|vienreizēja parole|vienreizējo paroli|vienreizējā parole
    |pagaidu parole|sešciparu|6 ciparu|seši cipari|četrciparu|4 ciparu|šos ciparus|šie cipari`,
  secret: 'parole|paroli|atslēga',
  authorization: 'autorizācijas kod*',
  receipt: 'kvīts|čeks|terminā*',
  sale: 'atlaid*|akcij*|kupon*|dāvan*|piedāvāj*|izpārdošan*|promo*|ietaup*|vaučer*',
  other: `pasta|svītrkods|svītrkodu|pasūtījuma|rezervācijas|sūtījuma|izsekošanas|rēķina|klienta|preces|produkta|kļūdas
    |pirmkods|pirmkodu|valsts|krāsas|biļetes|lidojuma|līguma|personas|uzņēmuma|veikala|qr|apģērba|biedra|pakas
    |sertifikāta|sertifikācijas|standarta|atgriešanas|statusa|izejas`,
  number: `pasūtījum*|nr|numurs|numuru|rēķin*|klient*|līgum*|kas beidzas ar|beidzas ar|pēdējie četri cipari
    |pēdējie 4 cipari|tālrun*|tālr|tel|zvaniet|mob|fakss|istaba|vieta|reiss|vilciens|biļet*|modelis|versija|pvn|darījum*
    |pieprasījum*|iela|gads|kopš|summa|kopā|atlikums|punkt*|polis*|kart*|sūtījum*|rezervācij*|kvīt*|biedr*|pants|panta
    |terminā*`,
  neutral: 'numurs|numuru|skaitli|nr',
  meeting: 'sapulc*|tikšan*|videozvan*|konferenc*|vebinār*',
  purpose: `apstiprin*|pārbaud*|verifik*|pieslēg*|pieteik*|piesak*|ielogo*|autentif*|identit*|vienreiz*|aktiv*|derīg*
    |beidzas|nevienam|neizpaud*|nedalieties|ievad*|droš*|piekļuv*|reģistr*|divu faktoru|divpakāpju|atjaun*`,
  type: `ievadiet|ievadi|ievadīt|ierakstiet|nokopējiet|ielīmējiet|izmantojiet|izmanto|lietojiet|ievadot|ievadat|ieraksti
    |ierakstot|izmantojot|lieto|norādiet|norādi|nokopē`,
  is: 'ir|ir šāds|šāds|zemāk',
  particle: 'jūsu|tavs|lai|un|šis|ar|pagaidu|jauns|konta|kontam|pieslēgšanās|vienreizējais',
  unit: `sekund*|minū*|min|stund*|dien*|nedēļ*|mēnes*|gad*|eiro|eur|punkt*|km|kg|reiz*|cilvēk*|lietotāj*|simbol*|zīm*|gab
    |metr*|procent*`,
  verify: `apstiprin*|aktiv*|verific*|pabeigt reģistrāciju|pabeidziet reģistrāciju|pieņemt uzaicinājumu`,
  signIn: 'pieslēg*|pieteikties|piesakieties|ielogoties',
  reset: `atiestat*|jauna parole|jaunu paroli|mainīt paroli|nomainīt paroli|nomainiet paroli|aizmirs*|atjaunot paroli`,
  unsubscribe: `atteikties no|atteikšanās no|anulēt abonementu|atrakst*|nevēlaties saņemt|paziņojumu iestatījumi`,
  here: `šeit|spiediet šeit|noklikšķiniet šeit|šī saite|saite|saiti|poga|pogu|turpināt|atvērt|skatīt`,
}
