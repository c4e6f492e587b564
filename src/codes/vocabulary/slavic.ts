import type { Vocabulary } from './vocabulary.ts'

export const polish: Vocabulary = {
  script: 'Latin',
  common: `nie|się|jest|na|że|to|jeśli|jeżeli|twój|twoje|twoja|twojego|oraz|lub|dziękujemy|cześć|witaj|proszę|został|została
    |przez|od|państwa|dzień|dobry|pozdrawiamy|wiadomość|nikomu|tej|ten|tego|aby|po|ze|prosimy|o|pani|panie|szanowny`,
  code: `cyfry|cyfr|kod|kodu|kodem|kodzie|kody|kodów|*-kod|hasło jednorazowe|hasła jednorazowego|jednorazowe hasło
    |hasło tymczasowe|tymczasowe hasło|hasło sms|numer weryfikacyjny|sześć cyfr|6 cyfr|cztery cyfry|4 cyfry|sześciocyfrowy
    |czterocyfrowy|następujące cyfry|poniższe cyfry|ciąg cyfr`,
  secret: 'hasło|hasła|klucz',
  authorization: 'kod autoryzacji|kod autoryzacyjny',
  receipt: 'paragon|potwierdzenie płatności|terminal*',
  sale: `rabat*|zniżk*|promoc*|promo*|kupon*|bon|bonu|bony|voucher*|podarunk*|upominkow*|wyprzedaż*|oszczęd*|okazj*|prezent*
    |polecając*|zniżkow*`,
  other: `rezerwacyjn*|pocztow*|kreskow*|zamówienia|rezerwacji|przesyłki|śledzenia|śledzące*|faktury|klienta|nabywcy
    |odbiorcy|kontrahenta|produktu|towaru|artykułu|błędu|źródłow*|kraju|koloru|karny|cywilny|pracy|etyki|ubioru|biletu
    |lotu|umowy|abonenta|sklepu|oddziału|pkd|swift|paczki|kierunkow*|pnr|ean|ucznia|certyfikatu|certyfikacji|normy
    |powrotu|wyjścia|statusu|drogow*|cywilnego|karnego`,
  number: `zamówieni*|nr|numer*|referencj*|konto|konta|rachun*|umow*|kończący się na|kończąca się na|kończącą się na
    |kończy się na|ostatnie cztery cyfry|ostatnie 4 cyfry|telefon*|tel|zadzwoń|infolini*|kom|faks|pokój|pokoju|miejsce
    |lot|lotu|pociąg*|wagon|bilet*|model|wersj*|nip|regon|krs|pesel|transakcj*|zgłoszeni*|wniosek|wniosku|spraw*|ulica
    |ul|aleja|al|rok|roku|od|kwot*|suma|razem|saldo|punkt*|polis*|karta|karty|przesył*|paczk*|rezerwacj*|faktur*
    |paragon*|klient*|członk*|płatność|przelew na kwotę|art|artykuł|terminal*|sprzedawc*`,
  neutral: 'numer|liczba|liczbę|nr',
  meeting: 'spotkani*|wideokonferencj*|telekonferencj*|konferencj*|webinar*|wideorozmow*',
  purpose: `weryfik*|potwierd*|zalog*|logowani*|logować|uwierzytelni*|autoryz*|jednorazow*|aktyw*|wygas*|ważny|ważność|ważne
    |nie udostępniaj|nie przekazuj|nikomu|wpisz|wprowadź|tożsamoś*|bezpieczeństw*|dostęp*|rejestrac*|dwuetapow*
    |dwuskładnikow*|resetowani*`,
  type: `wpisz|wpisać|wpisz go|wprowadź|wprowadzić|podaj|podać|przepisz|przepisać|skopiuj|wklej|użyj|wykorzystaj
    |prosimy podać|wpisując|wpisujesz|wprowadzając|wprowadzasz|podając|przepisując|używając|używaj|użyć|wklepa*|skorzystaj z
    |wstaw|wpisanie`,
  is: 'to|jest|brzmi|jest następujący|następujący|poniżej|oto|są',
  particle: `do|dla|twój|twojego|w|na|z|i|ten|jednorazowy|tymczasowy|sms|państwa|nowy|o|do swojego|osobisty|pański`,
  unit: `sekund*|minut*|min|godzin*|godz|dzień|dni|tydzień|tygodni*|miesiąc*|miesięcy|rok|lat|lata|zł|zl|złot*|pln|gr|euro
    |punkt*|pkt|km|kg|razy|osób|osoby|użytkownik*|znak*|szt|sztuk|metr*|procent`,
  verify: `potwierd*|zweryfik*|weryfik*|aktyw*|dokończ rejestrację|zakończ rejestrację|przyjmij zaproszenie`,
  signIn: 'zaloguj*|logowanie|link do logowania|magiczny link',
  reset: `zresetuj*|resetuj*|nowe hasło|zmień hasło|zmiana hasła|zmienić hasło|ustaw hasło|odzysk*|zapomniał*|przywróć`,
  unsubscribe: `wypisz*|wypisać|anuluj subskrypcję|zrezygnuj|rezygnacja z subskrypcji|nie chcesz otrzymywać
    |ustawienia powiadomień|zarządzaj subskrypcją|preferencje`,
  here: `tutaj|tu|kliknij tutaj|kliknij tu|kliknij|ten link|link|przycisk|kontynuuj|otwórz|zobacz|dalej`,
}

export const czech: Vocabulary = {
  script: 'Latin',
  common: `se|je|na|že|to|pokud|váš|vaše|vašeho|nebo|děkujeme|dobrý|den|prosím|byl|byla|jste|od|ve|jsme|si|tento|této|tuto
    |pro|nikomu|pozdravem|zdravíme|ahoj|vám|vás|po|abyste|který|jsou|tvůj|ještě|při|už|ne|zprávu|žádost`,
  code: `číslice|číslic|kód|kódu|kódem|kódy|kódů|jednorázové heslo|jednorázového hesla|dočasné heslo|ověřovací číslo
    |šest číslic|6 číslic|čtyři číslice|4 číslice|šestimístn*|čtyřmístn*|následující číslice|tyto číslice|heslo z sms`,
  secret: 'heslo|hesla|klíč',
  authorization: 'autorizační kód',
  receipt: 'účtenka|účtenku|stvrzenka|terminál*',
  sale: `slev*|promo*|kupon*|kupón*|poukaz*|voucher*|dárkov*|akční*|výprodej*|akce|ušetř*|doporučení příteli`,
  other: `rezervačn*|čárov*|poštovní|směrovac*|objednávky|rezervace|zásilky|sledovací|faktury|zákazníka|zákaznick*
    |produktu|zboží|chyby|chybov*|zdrojov*|země|barvy|trestní|jízdenky|letu|smlouvy|prodejny|banky|etick*|odesílatele
    |variabilní|podací|vstupenky|balíku|certifikátu|certifikace|normy|návratový|ukončení|stavu|občanský|trestn*
    |zákoník práce`,
  number: `objednávk*|č|číslo|čísla|reference|účet|účtu|smlouv*|končící na|končí na|končící číslem
    |poslední čtyři číslice|poslední 4 číslice|telefon*|tel|volejte|zavolejte|linka|linku|mobil|fax|pokoj|místo|sedadlo
    |let|letu|vlak|vůz|jízdenk*|model|verze|ič|ičo|dič|transakc*|žádost*|případ*|spis*|ulice|ul|náměstí|psč|rok|roku
    |částk*|celkem|zůstatek|body|pojistk*|kart*|zásilk*|balík*|rezervac*|faktur*|účtenk*|zákazník*|člen*
    |variabilní symbol|vs|platba|článek|čl|terminál*|obchodník*`,
  neutral: 'číslo|čísla|č',
  meeting: 'schůzk*|videohovor*|videokonferenc*|konferenc*|webinář*|webinar*|online setkání',
  purpose: `ověř*|potvr*|přihl*|autentiz*|autoriz*|jednorázov*|aktiv*|vyprší|platí|platnost*|platný|nesdílej*|nikomu|zadej*
    |totožnost*|identit*|bezpečnost*|přístup*|registr*|dvoufázov*|dvoufaktor*|obnov*`,
  type: `zadejte|zadej|zadat|zadáním|napište|napiš|vložte|vlož|opište|přepište|zkopírujte|použijte|použij|vyplňte|zadáte
    |zadáš|napsat|napíšete|vložit|vložíte|opsat|opiš|přepiš|použít|použitím|použijete|vyplň|vyplnit|uveďte|uveď|vepište
    |vepiš|naťukejte|doplňte`,
  is: 'je|jsou|zní|je následující|následující|níže|uvedený níže|zde',
  particle: `pro|k|ke|do|na|v|ve|se|váš|vašeho|vašemu|tvůj|a|tento|z|jednorázový|nový|dočasný|osobní`,
  unit: `sekund*|vteřin*|minut*|min|hodin*|hod|den|dny|dní|dnů|týden|týdn*|měsíc*|rok|roky|let|kč|czk|korun*|eur*|bod*|km|kg
    |krát|osob|uživatel*|znak*|ks|kus*|metr*|procent`,
  verify: 'ověř*|potvr*|aktiv*|dokončit registraci|dokončete registraci|přijmout pozvánku',
  signIn: 'přihlásit*|přihlaste*|přihlášení|přihlas se|přihlašovací odkaz',
  reset: 'obnov*|resetovat*|nové heslo|změnit heslo|změňte heslo|změna hesla|zapomenut*|zapomněli',
  unsubscribe: `odhlásit odběr|odhlásit se z odběru|odhlášení z odběru|odhlaste se z|zrušit odběr|nechcete dostávat
    |nepřejete|nastavení oznámení|spravovat předvolby`,
  here: `zde|tady|klikněte zde|klikněte sem|sem|tento odkaz|odkaz|odkazem|tlačítko|pokračovat|otevřít|zobrazit`,
}

export const slovak: Vocabulary = {
  script: 'Latin',
  common: `sa|je|na|že|to|ak|váš|vaše|vášho|alebo|ďakujeme|dobrý|deň|prosím|bol|bola|ste|od|vo|sme|si|tento|tejto|túto|pre
    |nikomu|pozdravom|ahoj|vám|vás|po|aby|ktorý|sú|tvoj|ešte|pri|už|nie|správu|žiadosť|teraz`,
  code: `číslice|číslic|kód|kódu|kódom|kódy|kódov|jednorazové heslo|jednorazového hesla|dočasné heslo|overovacie číslo
    |šesť číslic|6 číslic|štyri číslice|4 číslice|šesťmiestn*|štvormiestn*|nasledujúce číslice|tieto číslice`,
  secret: 'heslo|hesla|kľúč',
  authorization: 'autorizačný kód',
  receipt: 'bloček|účtenka|doklad|terminál*',
  sale: `zľav*|promo*|kupón*|poukaz*|poukážk*|voucher*|darčekov*|akciov*|výpredaj*|akcia|ušetr*|odporúčac*`,
  other: `rezervačn*|čiarov*|poštov*|smerov*|objednávky|rezervácie|zásielky|sledovac*|faktúry|zákazníka|zákazníck*
    |produktu|tovaru|chyby|chybov*|zdrojov*|krajiny|farby|trestn*|lístka|letu|zmluvy|predajne|banky|etick*|odosielateľa
    |variabilný|vstupenky|balíka|certifikátu|certifikácie|normy|návratový|ukončenia|stavu|občiansky`,
  number: `objednávk*|č|číslo|čísla|referenc*|účet|účtu|zmluv*|končiaci na|končiaca na|končí na|končiaca číslom
    |posledné štyri číslice|posledné 4 číslice|telefón*|tel|volajte|zavolajte|linka|linku|mobil|fax|izba|miesto|sedadlo
    |let|letu|vlak|vozeň|lístok|lístk*|model|verzia|ičo|dič|transakci*|žiados*|prípad*|spis*|ulica|ul|námestie|psč|rok
    |roku|sum*|spolu|celkom|zostatok|body|poistk*|kart*|zásielk*|balík*|rezerváci*|faktúr*|účtenk*|zákazník*|člen*
    |variabilný symbol|vs|platba|článok|čl|terminál*|obchodník*`,
  neutral: 'číslo|čísla|č',
  meeting: 'stretnuti*|videohovor*|videokonferenc*|konferenc*|webinár*|schôdzk*|online stretnutie',
  purpose: `over*|potvr*|prihl*|autentif*|autoriz*|jednorazov*|aktiv*|vyprší|platí|platnos*|platný|nezdieľaj*|nikomu|zadaj*
    |totožnos*|identit*|bezpečnos*|prístup*|registr*|dvojfázov*|dvojfaktor*|obnov*`,
  type: `zadajte|zadaj|zadať|zadaním|napíšte|napíš|vložte|vlož|opíšte|prepíšte|skopírujte|použite|použi|vyplňte|zadáte|zadáš
    |napísať|napíšete|vložiť|vložíte|odpíšte|prepíš|použiť|použitím|použijete|vyplň|vyplniť|uveďte|uveď|vpíšte|vpíš|doplňte`,
  is: 'je|sú|znie|je nasledujúci|nasledujúci|nižšie|uvedený nižšie|tu',
  particle: 'pre|k|ku|do|na|v|vo|sa|váš|vášho|vášmu|tvoj|a|tento|z|jednorazový|nový|dočasný|osobný',
  unit: `sekund*|minút*|min|hodin*|hodín|hod|deň|dni|dní|týžd*|mesiac*|rok|roky|rokov|eur*|korún|bod*|km|kg|krát|osôb
    |používateľ*|znak*|ks|kus*|metr*|percent`,
  verify: 'over*|potvr*|aktiv*|dokončiť registráciu|dokončite registráciu|prijať pozvánku',
  signIn: 'prihlásiť*|prihláste*|prihlásenie|prihlás sa|prihlasovací odkaz',
  reset: 'obnov*|resetovať*|nové heslo|zmeniť heslo|zmeňte heslo|zmena hesla|zabudnut*|zabudli',
  unsubscribe: `odhlásiť odber|odhlásiť sa z odberu|odhlásenie z odberu|odhláste sa z|zrušiť odber|neželáte
    |nechcete dostávať|nastavenia upozornení|spravovať predvoľby`,
  here: `tu|sem|kliknite sem|kliknite tu|tento odkaz|odkaz|odkazom|tlačidlo|pokračovať|otvoriť|zobraziť`,
}

export const croatian: Vocabulary = {
  script: 'Latin',
  common: `je|se|na|da|za|ako|vaš|vaša|vaše|vašeg|ili|hvala|pozdrav|molimo|niste|ste|od|smo|ovaj|ova|ovu|ovo|nije|nemojte
    |zatražili|nikome|nikom|poštovani|poštovana|vam|vas|koji|koja|su|će|ne|tvoj|lijep|srdačan|ukoliko|nalog|bio|račun|dobar
    |dan|ovog|zahtev|zahtjev|sa`,
  code: `znamenke|znamenki|cifre|cifara|kod|kôd|koda|kodom|kodu|kodovi|šifra|šifru|šifre|jednokratna lozinka
    |jednokratnu lozinku|privremena lozinka|jednokratna šifra|šest znamenki|6 znamenki|četiri znamenke|4 znamenke
    |šest cifara|6 cifara|četiri cifre|4 cifre|šesteroznamenkast*|četveroznamenkast*|šestocifren*|sljedeće znamenke
    |sledeće cifre|verifikacijski broj`,
  secret: 'lozinka|lozinku|zaporka|zaporku|ključ',
  authorization: 'autorizacijski kod|kod autorizacije',
  receipt: 'račun|potvrda o plaćanju|terminal*',
  sale: 'popust*|promo*|kupon*|vaučer*|poklon*|akcij*|rasprodaj*|ušted*|preporuk*|sniženj*',
  other: `rezervacijsk*|poštanski|bar|crtični|narudžbe|narudžbine|porudžbine|rezervacije|pošiljke|praćenje|za praćenje
    |računa|fakture|kupca|klijenta|proizvoda|artikla|greške|pogreške|izvorni|države|boje|karte|leta|ugovora|poslovnice
    |banke|odijevanja|ponašanja|pozivni|člana|učenika|paketa|certifikata|certifikacije|norme|povratni|izlazni|statusa
    |kazneni|građanski`,
  number: `narudžb*|porudžb*|broj|br|referenc*|račun*|ugovor*|koja završava na|koji završava na|završava na|završava s
    |zadnje četiri znamenke|posljednje četiri znamenke|zadnje 4 znamenke|poslednje četiri cifre|telefon*|tel|nazovite
    |pozovite|mob|faks|soba|sjedalo|mjesto|let|leta|vlak|voz|vagon|kart*|model|verzija|oib|pib|mb|jmbg|transakcij*
    |zahtjev*|predmet*|ulica|ul|trg|godina|godine|iznos*|ukupno|stanje|bodov*|polic*|kartic*|pošiljk*|paket*|rezervacij*
    |faktur*|kupac|kupc*|član*|poziv na broj|fiskaln*|članak|čl|terminal*|trgovac`,
  neutral: 'broj|broja|br',
  meeting: 'sastan*|videopoziv*|videokonferencij*|konferencij*|webinar*|video poziv*',
  purpose: `verifi*|provjer*|proveri*|proverav*|potvr*|prijav*|autentif*|autoriz*|jednokratn*|aktiv*|ističe|istječe|vrijedi
    |važi|vrijedan|valjan*|ne dijelite|nemojte dijeliti|ne delite|nikome|unes*|upiš*|identitet*|sigurnos*|bezbednos*
    |pristup*|registr*|dvofaktorsk*`,
  type: `unesite|unesi|upišite|upiši|upisati|unijeti|uneti|utipkajte|ukucajte|kopirajte|zalijepite|koristite|iskoristite
    |upotrijebite|unosom|unesete|unosite|upisivanjem|upišete|upisujete|ukucaj|utipkaj|koristi|iskoristi|upotrijebi
    |upotrebite|navedite|kopiraj|prepišite|ukucavanjem`,
  is: 'je|glasi|su|je sljedeći|sljedeći|sledeći|ispod|u nastavku',
  particle: 'za|vaš|vašeg|tvoj|u|na|i|ovaj|s|sa|od|jednokratni|privremeni|novi|nalog|račun|osobni',
  unit: `sekund*|minut*|min|sat|sata|sati|h|dan|dana|tjed*|nedelj*|mjesec*|mesec*|godin*|eur*|kuna|kn|din|dinar*|rsd|km|bod*
    |kg|put|puta|osob*|korisnik*|znak*|kom|komad*|metar*|posto`,
  verify: 'potvr*|verifi*|aktiv*|dovršite registraciju|završite registraciju|prihvati poziv*',
  signIn: 'prijavi se|prijavite se|prijava|prijaviti se|prijavu|link za prijavu',
  reset: `ponovno postav*|resetir*|resetuj*|nova lozinka|nova zaporka|novu lozinku|promijenite lozinku|promijeni lozinku
    |promenite lozinku|oporav*|zaboravljen*|zaboravili`,
  unsubscribe: `odjav*|otkaži pretplatu|otkažite pretplatu|ne želite primati|ne želite više primati|postavke obavijesti
    |upravljaj*`,
  here: `ovdje|ovde|kliknite ovdje|kliknite ovde|ovaj link|ova poveznica|poveznica|poveznicu|link|gumb|dugme|nastavi|otvori
    |pogledaj`,
}

export const slovenian: Vocabulary = {
  script: 'Latin',
  common: `je|se|na|da|za|če|vaš|vaša|vaše|vašega|ali|hvala|pozdrav|prosimo|niste|ste|od|smo|ta|tega|to|ni|zahtevali|nikomur
    |spoštovani|spoštovana|vam|vas|ki|so|bo|ne|tvoj|lep|pozdravljeni|ter|pri|še|račun|v|z|s|sporočilo|bil|po|že`,
  code: `števke|števk|koda|kodo|kode|kodi|kod|enkratno geslo|začasno geslo|potrditvena številka|šestmestn*|štirimestn*
    |šest števk|6 števk|štiri števke|4 števke|naslednje števke|šifra|šifro`,
  secret: 'geslo|ključ',
  authorization: 'avtorizacijska koda|koda avtorizacije',
  receipt: 'račun|potrdilo o plačilu|terminal*',
  sale: `popust*|promo*|kupon*|bon|bona|vavčer*|daril*|akcij*|razprodaj*|prihran*|priporočil*|ugodnost*`,
  other: `rezervacijsk*|poštna|črtna|naročila|rezervacije|pošiljke|sledenje|za sledenje|sledilna|računa|stranke|kupca
    |izdelka|artikla|napake|izvorna|države|barve|vozovnice|leta|pogodbe|poslovalnice|oblačenja|qr|klicna|člana|paketa
    |certifikata|certificiranja|standarda|povratna|izhodna|stanja`,
  number: `naročil*|številka|številko|št|sklic*|referenc*|račun*|pogodb*|ki se konča na|se konča z|konča z
    |zadnje štiri števke|zadnje 4 števke|telefon*|tel|pokličite|gsm|faks|soba|sedež|let|vlak|vagon|vozovnic*|model
    |različica|ddv|davčna|transakcij*|zahtevek|zahtevk*|zadev*|ulica|cesta|trg|leto|leta|znesek|skupaj|stanje|točk*
    |polic*|kartic*|pošiljk*|paket*|rezervacij*|strank*|kupec|član*|člen|čl|terminal*|trgovec`,
  neutral: 'številka|številko|št',
  meeting: 'sestan*|videoklic*|videokonferenc*|konferenc*|webinar*|spletni seminar',
  purpose: `preveri*|preverjanj*|potrdi*|potrjevanj*|potrditven*|prijav*|avtentik*|enkratn*|aktiv*|poteče|velja|veljavn*
    |ne delite|nikomur|vnes*|vpiš*|identitet*|istovetnost*|varnost*|dostop*|registr*|dvostopenjsk*|dvofaktorsk*`,
  type: `vnesite|vnesi|vpišite|vpiši|vnesti|vtipkajte|kopirajte|prilepite|uporabite|uporabi|vnesete|vnašajte|vpišete|vpisati
    |vtipkaj|vtipkate|uporabiti|uporabite kodo|prepišite|navedite|kopiraj`,
  is: 'je|se glasi|so|je naslednja|naslednja|spodaj',
  particle: 'za|vaš|vaša|vašega|tvoja|v|na|in|ta|z|s|od|enkratna|začasna|nova|račun|do',
  unit: `sekund*|minut*|min|ura|ure|uri|ur|h|dan|dni|dneh|teden|tedn*|mesec*|let|leta|eur*|evr*|točk*|km|kg|krat|oseb*
    |uporabnik*|znak*|kos*|metr*|odstotk*`,
  verify: 'potrdi*|preveri*|aktiv*|dokončajte registracijo|sprejmi povabilo',
  signIn: 'prijavite se|prijavi se|prijava|prijavo|povezava za prijavo',
  reset: 'ponastav*|novo geslo|spremenite geslo|spremeni geslo|pozabljen*|pozabili|obnov*',
  unsubscribe: `odjav*|prekliči naročnino|ne želite več prejemati|nastavitve obvestil|upravljanje obvestil`,
  here: 'tukaj|kliknite tukaj|ta povezava|povezava|povezavo|gumb|nadaljuj|odpri|ogled',
}
