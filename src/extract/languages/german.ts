import type { Language } from './language.ts'

export const german: Language = {
  code: `*code|*codes|*-pin|*geheimzahl|pin|TAN|mTAN|smsTAN|*-tan|einmalpin|einmalpasswort
    |einmal-passwort|einmalkennwort|einmal-kennwort|*kennzahl|bestätigungsnummer
    |sicherheitsnummer|token|otp|*freischaltschlüssel|zugangsschlüssel|*prüfnummer
    |*kontrollnummer|sechsstellig*|6-stellig*|vierstellig*|4-stellig*|fünfstellig*|achtstellig*
    |sechs ziffern|folgende zahl|folgende zahlen|folgenden ziffern|folgende ziffern|zahlenfolge
    |zahlenkombination|ziffernfolge`,
  secret: 'passwort|kennwort|*schlüssel|einstiegspasswort',
  sale: `gutschein*|rabatt*|aktions*|coupon*|geschenk*|einlösen|sparen|angebot*|aktionscode
    |gutscheincode|rabattcode|empfehlungscode`,
  other: `bestell*|rechnung*|sendung*|buchung*|reservierung*|postleitzahl|plz|strichcode|barcode
    |verhaltens*|verhaltenscode|dresscode|kleider*|qr|qr-code|quell*|quellcode|fehler*|fehlercode
    |produkt*|artikel*|länder*|ländercode|farb*|farbcode|morsecode|flughafen*|kunden*|filial*
    |mitglieds*|veranstaltungs*|aktenzeichen|branchen*`,
  number: `tracking|ticket|referenz|az|konto|kontonummer|kunde|vertrag*|endet auf|endend auf
    |endziffern|letzten vier ziffern|letzten 4 ziffern|mit der endung|endung|telefon|tel|fax
    |mobil|anruf*|rufnummer|hotline|zimmer|sitz|platz|flug|zug|ICE|fahrkarte|modell|isbn|version
    |hrb|hra|ust-id|steuernummer|mitglied*|transaktion*|vorgang*|auftrag*|*nummer|nummern|nr
    |*straße|*str|*weg|*platz|*allee|*gasse|etage|jahr|seit|betrag|summe|gesamt|punkte
    |aktenzeichen|zähler*|ausweis|notruf|sperr-notruf|paketbox|box|fach|saison|iban|bic|blz
    |postfach|raum|ausgabe|karte`,
  purpose: `bestätig*|verifizier*|anmeld*|einlogg*|login|log-in|authentifi*|einmal*|aktivier*
    |freischalt*|freigabe|gültig|läuft*|verfällt|geben sie|gib|eingeben|eintipp*|nicht weiter*
    |niemandem|angefordert|identität|sicherheits*|zugang*|zurücksetz*|registrier*`,
  type: `geben sie|gib|eingeben|eintippen|tippen sie|tippe|eintragen|tragen sie|kopieren sie
    |kopiere|nutzen sie|nutze|benutze|benutzen sie|verwenden sie|verwende|einzugeben`,
  is: 'ist|als|lautet|lautet wie folgt|sind|wie folgt|folgende|folgenden|lauten',
  particle: `für|zu|zum|zur|die|der|das|den|ihr|ihre|dein|deine|bei|in|im|und|des|von|ein|eine
    |persönlicher`,
  unit: `sekunde*|minute*|min|stunde*|std|uhr|tag*|woche*|monat*|jahr*|euro*|eur|franken|chf
    |punkte*|km|kg|mal|personen|nutzer*|zeichen|ziffern|plätze|meter|stück|prozent|einwohner`,
  verify: `bestätig*|verifizier*|aktivier*|freischalt*|registrierung abschließen
    |anmeldung abschließen|konto freischalten|einladung annehmen|anmeldung bestätigen`,
  signIn: `anmelden|jetzt anmelden|einloggen|login|log-in|zum login|einmal-link|anmeldelink
    |anmelde-link|hier anmelden|sich anmelden`,
  reset: `zurücksetz*|neues passwort|passwort ändern|passwort vergessen|passwort festlegen
    |passwort vergeben|neues kennwort|kennwort ändern|wiederherstell*|ändere dein passwort
    |ändere bitte dein passwort|ändern sie ihr passwort|ändern sie bitte ihr passwort`,
  unsubscribe: `abbestell*|abmelden|abmeldung|austragen|newsletter abmelden|keine e-mails mehr
    |keine weiteren e-mails|e-mail-einstellungen|benachrichtigungen verwalten|nicht mehr erhalten
    |aus dem verteiler|benachrichtigungseinstellungen`,
  here: `hier|hier klicken|klicken sie hier|klick hier|diesen link|dieser link|link|den link
    |button|weiter|öffnen|los geht's|ansehen|folgenden link`,
}
