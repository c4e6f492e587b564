import type { Vocabulary } from './vocabulary.ts'

export const english: Vocabulary = {
  script: 'Latin',
  common: `you|your|we|this|that|not|have|if|was|it|be|by|from|or|has|please|thanks|hello|hi|dear|will|can|just|any|all|here
    |there|until|before`,
  code: `digits|*code|*codes|passcode*|pin|pins|otp|otps|totp|one-time password*|one time password*|single-use password*
    |one-time pass|one-time key|verification number|security number|access number|token|temporary password|setup key
    |pairing key|activation key|door key|keypad|six digits|6 digits|six-digit*|6-digit*|four digits|4 digits|four-digit*
    |4-digit*|five-digit*|5-digit*|eight-digit*|8-digit*|following digits|digits below|these digits|digits shown
    |enter the number|type the number|following numbers`,
  secret: 'password|passphrase|key',
  authorization: 'auth code|auth. code|authorization code|authorisation code',
  receipt: 'receipt|terminal|merchant id|merchant copy|customer copy|cardholder copy',
  sale: `offer|offers|promo*|coupon*|discount*|voucher*|gift|gift card|redeem*|redemption|savings|checkout|% off
    |off everything|off your|referral|refer a friend`,
  other: `order|approval|invoice|tracking|booking|reservation|ticket|postal|post|zip|area|country|dialing|bar|qr|qr-code
    |barcode|source|error|status|response|dress|color|colour|swift|sort|conduct|of conduct|product|purchase|airport|tax
    |unicode|decode|encode|morse|genetic|cheat|license|licence|style|discount|tariff|batch|lot|penal|customer|client
    |member|membership|branch|agent|vendor|organization|medical|procedure|species|vin|civil|criminal|labor|labour
    |commercial|vehicle|exit|return|stop|result|reason|parcel|package|consignment|shipping|shipment|flight|certification
    |certificate|standard|machine`,
  number: `order|order number|table|score|rank|queue|reference|ref|account|acct|customer|client|contract|ending
    |ending in|ending with|ends in|ends with|last 4 digits|last four digits|phone|tel|call|fax|mobile|text|room|suite
    |ste|apt|apartment|unit|seat|gate|flight|train|model|sku|article|isbn|part|serial|version|build|registration|reg|vat
    |po box|p.o. box|box|member*|loyalty|transaction|txn|request|case|incident|session|number|no|nr|num|id|locker|store
    |street|avenue|road|copyright|since|year|iban|bic|parcel|package|shipment|policy|claim|plate|employee|student
    |patient|points|miles|total|amount|balance|quantity|qty|confirmation number|issue|page|chapter|section|episode
    |receipt|statement|bill|terminal|pnr|device|OS|windows|ios|android|chrome|firefox|safari|edge|opera|card|merchant
    |pay|payment of|payments of|transfer of|transfers of|purchase of|withdrawal of|ISO|IEC|DIN|EN|RFC|ANSI|ASTM|GOST`,
  neutral: 'number|numbers|no|num',
  meeting:
    'meeting*|webinar*|conference|conference call|video call|dial-in|dial in by phone|join by phone|join the call',
  purpose: `verif*|confirm*|sign in|signing in|sign-in|signin|log in|login|log-in|logging in|authenticat*|two-factor
    |two-step|2-step|one-time|single-use|activat*|expire*|do not share|don't share|never share|do not forward|enter|type
    |didn't request|did not request|identity|unlock|access|security|register*|sign up|signing up`,
  type: `enter|enter it|enter this|type|type in|key in|dial in|punch|input|copy|paste|fill in|punch in|submit|use|use this
    |use the following|provide|entering|typing|using|write|write down|key it|put in|put|entered|with the number`,
  is: `is|are|as|is the following|below|is as follows|as follows|follows|is below|reads|will be|to use is`,
  particle: `of|to|for|the|this|your|in|our|a|an|use|new|at|on|with|following|and|my|into|it|own|personal|unique|secret
    |six-digit|digit|otp`,
  unit: `second*|sec|secs|minute*|min|mins|hour*|hr|hrs|day|days|week*|month*|year*|usd|eur|gbp|inr|dollar*|euro*|points
    |miles|km|kg|g|mg|ml|cm|mm|m|mah|kwh|w|gb|mb|kb|tb|px|people|users|items|pcs|times|characters|letters|steps|votes|stars
    |reviews|members|customers|st|nd|rd|th|avenue|ave|street|road|blvd|lane|ln|drive|dr|percent|lines|files|words|pages`,
  verify: `verif*|confirm*|activat*|validat*|complete registration|complete your registration|complete sign up
    |complete your sign|finish signing up|finish setting up|accept invitation|accept the invitation|accept invite`,
  signIn: `sign in|sign-in|signin|sign me in|log in|log-in|login|log me in|logging in|magic link|magic-link|one-time link
    |passwordless|open session|access your account`,
  reset: `reset*|new password|change password|change your password|change my password|change the password
    |update your password|create a password|choose a password|set a password|set your password|forgot*|recover*
    |lost password`,
  unsubscribe: `unsubscribe*|unsub|opt out|opt-out|optout|email preferences|mail preferences|email settings
    |notification settings|manage notifications|manage preferences|manage your preferences|manage emails|manage email
    |stop receiving|stop these|stop emails|no longer wish|update preferences|update your preferences
    |subscription preferences|communication preferences|mailing list`,
  here: `here|click here|this link|link|the link|this page|button|click|tap here|tap|open|go|continue|get started|start|next
    |ok|yes|yes it's me|this button|follow this link|click this link|press here`,
}

export const german: Vocabulary = {
  script: 'Latin',
  common: `sie|wir|nicht|mit|haben|bitte|auf|wenn|oder|auch|sich|dieser|diese|dieses|wird|uns|hallo|guten|danke|vielen|dank
    |mich|du|hat|wurde|einen|ihren|ihrem|ihrer|nach|noch|aus`,
  code: `temporäres passwort|vorläufiges passwort|temporäres kennwort|vorläufiges kennwort|ziffern|*code|*codes|*-pin
    |*geheimzahl|pin|TAN|mTAN|smsTAN|mobileTAN|pushTAN|photoTAN|chipTAN|*-tan|einmalpin|einmalpasswort|einmal-passwort
    |einmalkennwort|einmal-kennwort|*kennzahl|bestätigungsnummer|sicherheitsnummer|token|otp|*freischaltschlüssel
    |zugangsschlüssel|*prüfnummer|*kontrollnummer|sechsstellig*|6-stellig*|vierstellig*|4-stellig*|fünfstellig*|achtstellig*
    |sechs ziffern|folgende zahl|folgende zahlen|folgenden ziffern|folgende ziffern|zahlenfolge|zahlenkombination
    |ziffernfolge`,
  secret: 'passwort|kennwort|*schlüssel|einstiegspasswort',
  authorization: 'autorisierungscode|autorisierungs-code|genehmigungscode',
  receipt: '*beleg|kassenbon|quittung|terminal|terminal-id|händlerbeleg|kundenbeleg',
  sale: `werbe*|einladung*|empfehlung*|gutschein*|rabatt*|aktions*|coupon*|geschenk*|einlösen|sparen|angebot*|aktionscode
    |gutscheincode|rabattcode|empfehlungscode`,
  other: `ticket*|bestell*|rechnung*|sendung*|buchung*|reservierung*|postleitzahl|plz|strichcode|barcode|verhaltens*
    |verhaltenscode|dresscode|kleider*|qr|qr-code|quell*|quellcode|fehler*|fehlercode|produkt*|artikel*|länder*
    |ländercode|farb*|farbcode|morsecode|flughafen*|kunden*|filial*|mitglieds*|veranstaltungs*|aktenzeichen|branchen*
    |sendungscode|flug*|flugcode|zertifi*|zertifizierungscode|normcode|rückgabe*|rückgabecode|exit-code|exitcode
    |paketreferenz|straf*|zivil*|sendungs-code`,
  number: `tracking|ticket|referenz|az|konto|kontonummer|kunde|vertrag*|endet auf|endend auf|endziffern
    |letzten vier ziffern|letzten 4 ziffern|mit der endung|endung|telefon|tel|fax|mobil|anruf*|rufnummer|hotline|zimmer
    |sitz|platz|flug|zug|ICE|fahrkarte|modell|isbn|version|hrb|hra|ust-id|steuernummer|mitglied*|transaktion*|vorgang*
    |auftrag*|*nummer|nummern|nr|*straße|*str|*weg|*platz|*allee|*gasse|etage|jahr|seit|betrag|summe|gesamt|punkte
    |aktenzeichen|zähler*|ausweis|notruf|sperr-notruf|paketbox|box|fach|saison|iban|bic|blz|postfach|raum|ausgabe|karte
    |zahlung von|überweisung von|artikel|paragraf|absatz|terminal|beleg*|kartenzahlung`,
  neutral: 'nummer|zahl|zahlen|nr',
  meeting: 'meeting*|besprechung*|videokonferenz*|telefonkonferenz*|konferenz*|einwahl*|webinar*',
  purpose: `bestätig*|verifizier*|anmeld*|einlogg*|login|log-in|authentifi*|einmal*|aktivier*|freischalt*|freigabe|gültig
    |läuft*|verfällt|geben sie|gib|eingeben|eintipp*|nicht weiter*|niemandem|angefordert|identität|sicherheits*|zugang*
    |zurücksetz*|registrier*`,
  type: `geben sie|gib|eingeben|eintippen|tippen sie|tippe|eintragen|tragen sie|kopieren sie|kopiere|nutzen sie|nutze
    |benutze|benutzen sie|verwenden sie|verwende|einzugeben|gebe|gebt|geben|gibst|einzutippen|eingibst|eintippst|tippst
    |trage|trag|schreib|schreiben sie|nimm|nehmen sie|nutzt|benutzt|verwendest|verwenden|übertragen sie`,
  is: 'ist|als|lautet|lautet wie folgt|sind|wie folgt|folgende|folgenden|lauten',
  particle: `für|zu|zum|zur|die|der|das|den|ihr|ihre|dein|deine|bei|in|im|und|des|von|ein|eine|persönlicher|bitte|einfach
    |nun|jetzt`,
  unit: `sekunde*|minute*|min|stunde*|std|uhr|tag*|woche*|monat*|jahr*|euro*|eur|franken|chf|punkte*|km|kg|mal|personen
    |nutzer*|zeichen|plätze|meter|stück|prozent|einwohner`,
  verify: `bestätig*|verifizier*|aktivier*|freischalt*|registrierung abschließen|anmeldung abschließen|konto freischalten
    |einladung annehmen|anmeldung bestätigen`,
  signIn: `anmelden|jetzt anmelden|einloggen|login|log-in|zum login|einmal-link|anmeldelink|anmelde-link|hier anmelden
    |sich anmelden`,
  reset: `zurücksetz*|neues passwort|passwort ändern|passwort vergessen|passwort festlegen|passwort vergeben|neues kennwort
    |kennwort ändern|wiederherstell*|ändere dein passwort|ändere bitte dein passwort|ändern sie ihr passwort
    |ändern sie bitte ihr passwort`,
  unsubscribe: `abbestell*|abmelden|abmeldung|austragen|newsletter abmelden|keine e-mails mehr|keine weiteren e-mails
    |e-mail-einstellungen|benachrichtigungen verwalten|nicht mehr erhalten|aus dem verteiler|benachrichtigungseinstellungen`,
  here: `hier|hier klicken|klicken sie hier|klick hier|diesen link|dieser link|link|den link|button|weiter|öffnen|los geht's
    |ansehen|folgenden link`,
}

export const dutch: Vocabulary = {
  script: 'Latin',
  common: `je|jij|u|uw|jouw|wij|we|niet|met|het|een|dit|deze|dat|hebt|heeft|als|heb|of|ook|naar|door|geen|hallo|beste
    |bedankt|groet|groeten|zijn|wordt|kun|kunt|hieronder|hierbij|ons|onze|ben|er|nog`,
  code: `cijfers|*code|*codes|*pincode|eenmalig wachtwoord|tijdelijk wachtwoord|wegwerpwachtwoord|toegangsnummer
    |verificatienummer|controlegetal|zescijferig*|6-cijferig*|viercijferig*|4-cijferig*|zes cijfers|vier cijfers
    |volgende cijfers|cijfercombinatie|cijferreeks`,
  secret: 'wachtwoord|sleutel',
  authorization: 'autorisatiecode*',
  receipt: 'kassabon|bonnetje|betaalbewijs|terminal|klantticket',
  sale: `korting*|kortingscode*|actiecode*|couponcode*|cadeau*|cadeaubon*|tegoedbon*|aanbieding*|besparen|bespaar
    |vouchercode*|promotiecode*|uitverkoop|vriendencode|waardebon*`,
  other: `postcode*|barcode*|streepjescode*|bestelcode*|boekingscode*|reserveringscode*|klantcode*|landcode*|foutcode*
    |broncode*|productcode*|artikelcode*|trackingcode*|track-en-tracecode*|volgcode*|kleurcode*|dresscode*|gedragscode*
    |qr-code*|bankcode*|filiaalcode*|referentiecode*|factuurcode*|ticketcode*|kassabon|netnummer|zendingcode*
    |pakketcode*|verzendcode*|vluchtcode*|certificaatcode*|certificeringscode*|retourcode*|exitcode*|statuscode*`,
  number: `bestelling|bestelnummer|ordernummer|factuur*|factuurnummer|*nummer|nr|klant|klantnummer|rekening*
    |eindigend op|eindigt op|laatste vier cijfers|laatste 4 cijfers|telefoon|tel|bel|bellen|fax|kamer|stoel|vlucht|trein
    |perron|model|versie|kvk|btw|referentie|kenmerk|dossier|polis|zending|pakket|boeking|reservering|ticket|bedrag
    |totaal|saldo|punten|jaar|sinds|straat|*straat|*weg|*laan|*plein|postbus|lid|lidmaatschap|aanvraag|zaak|betaling van
    |overschrijving van|artikel|terminal`,
  neutral: 'nummer|getal|nr',
  meeting: `vergadering|vergader*|videovergadering*|videogesprek|conferentie*|inbellen|webinar*|teamvergadering`,
  purpose: `verific*|verifieer|verifiër*|bevestig*|inlog*|log in|aanmeld*|authenticatie|eenmalig*|activeer|activer*
    |activatie*|verloopt|geldig|deel deze|deel dit|niet delen|voer|invoer*|identiteit|beveilig*|toegang|registr*|tweestaps*
    |twee-factor|tweefactor*|wachtwoord`,
  type: `voer|voer in|invoeren|vul|vul in|invullen|typ|typ in|toets|toets in|kopieer|plak|gebruik|intypen|voert|invoert|vult
    |typt|toetst|geef|geef in|geeft|ingeven|neem|neem over|gebruikt|gebruiken|overtypen|schrijf|kopieert`,
  is: 'is|zijn|luidt|is als volgt|als volgt|volgende|hieronder',
  particle: `voor|van|de|het|een|uw|je|jouw|om|te|in|op|bij|en|deze|die|dit|persoonlijke|tijdelijke|unieke|eenmalige`,
  unit: `seconde*|minu*|uur|uren|dag|dagen|week|weken|maand*|jaar|jaren|euro*|punten|km|kg|keer|personen|gebruikers|tekens
    |stuks|meter|procent|leden`,
  verify: `bevestig*|verifieer|verifiër*|verificatie|activeer|activer*|uitnodiging accepteren|registratie voltooien
    |aanmelding voltooien`,
  signIn: 'inloggen|log in|aanmelden|meld je aan|meld u aan|inloglink|magische link',
  reset: `wachtwoord herstellen|wachtwoord opnieuw|opnieuw instellen|nieuw wachtwoord|wachtwoord wijzigen
    |wachtwoord resetten|wachtwoord vergeten|herstel*|wijzig je wachtwoord|wijzig uw wachtwoord`,
  unsubscribe: `uitschrijv*|afmeld*|uitschrijf*|schrijf je uit|schrijf u uit|niet meer ontvangen|e-mailvoorkeuren
    |voorkeuren beheren|meldingsinstellingen`,
  here: `hier|klik hier|deze link|de link|link|knop|deze knop|doorgaan|verder|openen|bekijk|bekijken`,
}

export const swedish: Vocabulary = {
  script: 'Latin',
  common: `du|din|ditt|dina|vi|och|inte|att|det|som|har|om|den|detta|denna|eller|kan|hej|tack|med|av|oss|ej|er|vill|ska
    |ingen|någon|från|när|hälsningar|vänliga|nedan|behöver|är|på|dig|sig|så|bara`,
  code: `siffror|siffrorna|*kod|*koden|*koder|kodord*|engångslösenord*|tillfälligt lösenord|engångskod*|*pinkod*
    |verifieringsnummer|kontrollnummer|sexsiffrig*|6-siffrig*|fyrsiffrig*|4-siffrig*|sex siffror|fyra siffror
    |följande siffror|sifferkombination*|siffrorna nedan`,
  secret: 'lösenord*|nyckel',
  authorization: 'auktoriseringskod*|auktorisationskod*',
  receipt: 'kvitto*|terminal*|kundens kvitto',
  sale: `rabatt*|rabattkod*|kampanj*|kampanjkod*|presentkort*|presentkod*|erbjudande*|värdekod*|kupong*|kupongkod*|rea|spara
    |värdecheck|värvningskod*|gåvokort`,
  other: `postkod*|streckkod*|bokningskod*|bokningsnummer|felkod*|källkod*|landskod*|produktkod*|artikelkod*|färgkod*
    |klädkod*|qr-kod*|kundkod*|uppförandekod*|riktnummer|beställningskod*|orderkod*|spårningskod*|bankkod*|butikskod*
    |fakturakod*|referenskod*|biljettkod*|ocr|paketkod*|försändelsekod*|flygkod*|certifieringskod*|returkod*|statuskod*
    |avslutningskod*`,
  number: `order*|ordernummer|beställning*|faktura*|*nummer|*numret|nr|kund*|konto*|slutar på|slutar med
    |sista fyra siffrorna|sista 4 siffrorna|telefon*|tel|ring|mobil|fax|rum|plats|flyg|tåg|vagn|modell|version|orgnr
    |org.nr|momsreg*|referens*|ärende*|försäkring*|paket*|försändelse*|bokning*|biljett*|kolli*|belopp|summa|totalt
    |att betala|saldo|poäng|sedan|*gatan|*vägen|box|medlem*|bankgiro|plusgiro|kvitto*|betalning på|överföring på|artikel
    |terminal*`,
  neutral: 'nummer|numret|talet|nr',
  meeting: 'möte*|mötes*|videomöte*|videosamtal*|konferens*|webbinarium|webinar*',
  purpose: `verifier*|bekräft*|logga in|inloggning*|autentis*|engångs*|aktiver*|går ut|giltig*|dela inte|dela aldrig|ange
    |skriv in|identitet*|säkerhet*|åtkomst|registrer*|tvåstegs*|tvåfaktor*|lösenord*`,
  type: `ange|skriv|skriv in|mata in|fyll i|knappa in|slå in|kopiera|klistra in|använd|anger|skriver|skriver in|matar in
    |fyll|fyller i|knappar in|använder|uppge|uppger|mata`,
  is: 'är|lyder|är följande|följande|nedan|enligt nedan|blir',
  particle: `för|till|din|ditt|en|ett|den|det|att|i|på|av|och|med|hos|denna|detta|personliga|tillfälliga|unika`,
  unit: `sekund*|minut*|min|timm*|tim|dag|dagar|dygn|veck*|månad*|årig*|kronor|kr|sek|öre|euro|poäng|km|mil|kg|gånger
    |personer|användare|tecken|st|meter|procent|medlemmar`,
  verify: 'bekräft*|verifier*|aktiver*|slutför registreringen|acceptera inbjudan',
  signIn: 'logga in|inloggning|inloggningslänk|magisk länk',
  reset: `återställ*|nytt lösenord|byt lösenord|ändra lösenord|ändra ditt lösenord|glömt lösenord|välj ett nytt lösenord`,
  unsubscribe: `avprenumerera*|avregistrera*|avsluta prenumeration*|avanmäl*|sluta få|inte längre få|e-postinställningar
    |hantera prenumeration*|aviseringsinställningar`,
  here: 'här|klicka här|denna länk|den här länken|länken|länk|knappen|fortsätt|öppna|visa',
}

export const danish: Vocabulary = {
  script: 'Latin',
  common: `du|din|dit|dine|vi|og|ikke|at|det|som|har|hvis|den|dette|denne|eller|kan|hej|tak|med|af|os|jer|vil|skal|ingen
    |nogen|fra|når|hilsen|venlig|nedenfor|nedenstående|blev|er|på|dig|bliver|kun|anmodet|bedt`,
  code: `cifre|cifrene|*kode|*koden|*koder|engangskode*|engangsadgangskode*|midlertidig adgangskode|*pinkode*
    |bekræftelsesnummer|kontrolnummer|sekscifret|sekscifrede|6-cifret|6-cifrede|firecifret|firecifrede|4-cifret|4-cifrede
    |seks cifre|fire cifre|følgende cifre|følgende tal|talkode*`,
  secret: 'adgangskode|adgangskoden|password|kodeord|nøgle',
  authorization: 'autorisationskode*|godkendelseskode*',
  receipt: 'kvittering*|bon|terminal*',
  sale: `rabat*|rabatkode*|kampagne*|kampagnekode*|gavekort*|gavekode*|tilbud*|tilbudskode*|kupon*|kuponkode*|udsalg|spar
    |værdibevis|værdikode*|henvisningskode*`,
  other: `postnummer|postnr|stregkode*|bookingkode*|reservationskode*|fejlkode*|kildekode*|landekode*|landskode*
    |produktkode*|varekode*|farvekode*|dresscode|qr-kode*|kundekode*|adfærdskodeks|ordrekode*|sporingskode*|bankkode*
    |butikskode*|fakturakode*|referencekode*|billetkode*|områdekode|pakkekode*|forsendelseskode*|flykode*
    |certificeringskode*|returkode*|statuskode*|afslutningskode*`,
  number: `ordre*|ordrenummer|bestilling*|faktura*|*nummer|nr|kunde*|konto*|der ender på|ender på|slutter på
    |sidste fire cifre|sidste 4 cifre|telefon*|tlf|ring|mobil|fax|værelse|sæde|plads|fly|tog|vogn|model|version|cvr|moms
    |reference*|sag|sagsnummer|police*|pakke*|forsendelse*|booking*|reservation*|billet*|beløb|total|i alt|saldo|point
    |år|siden|*gade|*vej|*allé|postboks|medlem*|kvittering*|reg|betaling på|overførsel på|artikel|terminal*|kort`,
  neutral: 'nummer|nummeret|tallet|nr',
  meeting: 'møde*|møde-id|videomøde*|videoopkald*|konference*|telefonkonference*|webinar*',
  purpose: `verificer*|bekræft*|log ind|login|log på|godkend*|engangs*|aktiver*|udløber|gyldig*|del ikke|del aldrig|indtast*
    |skriv|identitet*|sikkerhed*|adgang*|registrer*|totrins*|tofaktor*`,
  type: `indtast|indtaste|skriv|tast|tast ind|udfyld|kopier|kopiér|indsæt|brug|benyt|angiv|indtaster|skriver|taster|angiver
    |bruger|benytter|udfylder|oplys|indsætter|indtastes`,
  is: 'er|lyder|er følgende|følgende|nedenfor|som følger',
  particle: `til|for|din|dit|en|et|den|det|at|i|på|af|og|med|hos|denne|dette|personlige|midlertidige`,
  unit: `sekund*|minut*|min|time|timer|dag|dage|døgn|uge*|måned*|år|kroner|kr|dkk|øre|euro|point|km|kg|gange|personer
    |brugere|tegn|stk|meter|procent|medlemmer`,
  verify: `bekræft*|verificer*|aktiver*|fuldfør registrering*|acceptér invitation*|accepter invitation*`,
  signIn: 'log ind|log på|login|loginlink',
  reset: `nulstil*|ny adgangskode|nyt kodeord|skift adgangskode|ændr adgangskode|glemt adgangskode|glemt kodeord|gendan*
    |vælg en ny`,
  unsubscribe: `afmeld*|afmelding|framelding|frameld*|opsig abonnement|ikke længere modtage|e-mailindstillinger|administrer*`,
  here: 'her|klik her|dette link|linket|link|knappen|fortsæt|åbn|se',
}

export const norwegian: Vocabulary = {
  script: 'Latin',
  common: `du|din|ditt|dine|vi|og|ikke|å|det|som|har|hvis|den|dette|denne|eller|kan|hei|takk|med|av|oss|dere|vil|skal|ingen
    |noen|fra|når|hilsen|vennlig|nedenfor|bedt|ble|er|på|deg|blir|kun|bare|etter|om`,
  code: `siffer|sifrene|siffrene|*kode|*koden|*koder|engangskode*|engangspassord*|midlertidig passord|*pinkode*
    |bekreftelsesnummer|kontrollnummer|sekssifret|sekssifrede|6-sifret|6-sifrede|firesifret|firesifrede|4-sifret|4-sifrede
    |seks siffer|fire siffer|følgende siffer|følgende tall|tallkode*`,
  secret: 'passord|passordet|nøkkel',
  authorization: 'autorisasjonskode*|godkjenningskode*',
  receipt: 'kvittering*|terminal*',
  sale: `rabatt*|rabattkode*|kampanje*|kampanjekode*|gavekort*|gavekode*|tilbud*|tilbudskode*|kupong*|kupongkode*|salg|spar
    |verdikode*|vervekode*|verdibevis`,
  other: `postnummer|postnr|strekkode*|bookingkode*|bestillingskode*|reservasjonskode*|feilkode*|kildekode*|landkode*
    |landskode*|produktkode*|varekode*|fargekode*|kleskode*|qr-kode*|kundekode*|ordrekode*|sporingskode*|bankkode*
    |butikkode*|fakturakode*|referansekode*|billettkode*|retningsnummer|kid|pakkekode*|sendingskode*|flykode*
    |sertifiseringskode*|returkode*|statuskode*|avslutningskode*`,
  number: `ordre*|ordrenummer|bestilling*|faktura*|*nummer|nr|kunde*|konto*|som slutter på|slutter på|ender på
    |siste fire sifre|siste 4 sifre|siste fire siffer|siste 4 siffer|telefon*|tlf|ring|mobil|faks|rom|sete|plass|fly|tog
    |vogn|modell|versjon|org.nr|orgnr|mva|referanse*|sak|saksnummer|polise*|pakke*|sending*|forsendelse*|reservasjon*
    |billett*|beløp|totalt|sum|å betale|saldo|poeng|år|siden|*gata|*gate|*veien|*vei|postboks|medlem*|kvittering*
    |betaling på|overføring på|artikkel|terminal*|kort`,
  neutral: 'nummer|nummeret|tallet|nr',
  meeting: 'møte*|møte-id|videomøte*|videosamtale*|konferanse*|telefonkonferanse*|webinar*',
  purpose: `verifiser*|bekreft*|logg inn|innlogging*|pålogging*|logge inn|autentiser*|engangs*|aktiver*|utløper|gyldig*
    |del ikke|del aldrig|ikke del|skriv inn|tast inn|identitet*|sikkerhet*|tilgang*|registrer*|totrinns*|tofaktor*`,
  type: `skriv|skriv inn|tast|tast inn|oppgi|fyll inn|fyll ut|kopier|lim inn|bruk|benytt|legg inn|skriver|skriver inn|taster
    |taster inn|oppgir|bruker|benytter|fyller inn|legger inn|angi|angir`,
  is: 'er|lyder|er følgende|følgende|nedenfor|som følger',
  particle: `til|for|din|ditt|en|et|den|det|å|i|på|av|og|med|hos|denne|dette|personlige|midlertidige`,
  unit: `sekund*|minutt*|min|time|timer|dag|dager|døgn|uke*|måned*|år|kroner|kr|nok|øre|euro|poeng|km|kg|ganger|personer
    |brukere|tegn|stk|meter|prosent|medlemmer`,
  verify: 'bekreft*|verifiser*|aktiver*|fullfør registrering*|godta invitasjon*',
  signIn: 'logg inn|logg på|innlogging|påloggingslenke|innloggingslenke',
  reset: `tilbakestill*|nytt passord|endre passord|bytt passord|glemt passord|gjenopprett*|velg et nytt passord|nullstill*`,
  unsubscribe: `avmeld*|meld deg av|meld av|avslutt abonnement*|avslutte abonnement*|ikke lenger motta|e-postinnstillinger
    |administrer*|varslingsinnstillinger`,
  here: 'her|klikk her|denne lenken|lenken|lenke|knappen|fortsett|åpne|se',
}
