import type { PlainCatalogue } from './en.ts'

export const de: PlainCatalogue = {
  plain_title: 'Eine temporäre Adresse',
  plain_lead:
    'Holen Sie sich eine Adresse, verwenden Sie sie überall und lesen Sie ihre Mails hier. Ganz ohne JavaScript.',
  plain_get: 'Adresse holen',
  plain_lifetime: 'Sie läuft nach {life} ab, dann werden ihre Mails gelöscht.',
  plain_cookie:
    'Ein Cookie merkt sich die Adresse in diesem Browser, bis sie abläuft. Andere Websites können es nicht sehen.',
  plain_open: 'Adresse in diesem Browser öffnen',
  plain_slow: 'Das dauert länger als sonst. Es geht auch ohne JavaScript:',
  plain_any_domain: 'Beliebige Domain',
  plain_expires: 'Läuft {rest} ab: {time}.',
  plain_already: 'Sie haben bereits diese Adresse. Löschen Sie sie, um eine andere zu bekommen.',
  plain_empty: 'Noch keine Nachrichten. Neue Mails erscheinen hier.',
  plain_paused: 'Automatischer Abruf ist aus.',
  plain_pause: 'Nicht mehr abrufen',
  plain_resume: 'Automatisch abrufen',
  plain_deleted: 'Adresse und Mails gelöscht.',
  plain_back: 'Zurück zum Posteingang',
  plain_received: 'Empfangen',
  plain_links: 'Links',
  plain_more_links: 'Weitere Links',
  plain_unsubscribe: 'Abbestellen',
  plain_link: 'Link',
  plain_html: 'Diese Nachricht wurde als HTML gesendet. Hier ist ihr Text.',
  plain_attachment_warning:
    'Öffnen Sie nur Dateien, die Sie erwarten. Dateien von Fremden können schädlich sein.',
  plain_cookie_title: 'Ihr Browser hat das Cookie nicht gespeichert',
  plain_cookie_text:
    'Ohne das Cookie weiß diese Seite nicht, welche Adresse Ihre ist. Erlauben Sie Cookies für diese Website und versuchen Sie es noch einmal.',
  plain_expired_text: 'Ihre Mails wurden gelöscht. Sie können jederzeit eine neue Adresse holen.',
  plain_none_title: 'Keine Adresse in diesem Browser',
  plain_none_text:
    'Holen Sie sich eine, oder laden Sie die Seite neu, wenn Sie von einer anderen Website kommen.',
  plain_missing_title: 'Nachricht nicht gefunden',
  plain_missing_text: 'Vielleicht wurde sie gelöscht.',
  plain_rejected_title: 'Anfrage abgelehnt',
  plain_rejected_text:
    'Die Anfrage kam nicht von einer Seite dieser Website. Verwenden Sie die Schaltflächen hier.',
  plain_invalid_name: 'Dieser Name ist nicht erlaubt. Die Regeln stehen unten.',
  plain_domain_gone: 'Diese Domain ist nicht mehr verfügbar. Wählen Sie eine andere.',
  plain_invalid_title: 'Ungültige Anfrage',
  plain_invalid_text: 'Etwas an der Anfrage ist falsch. Beginnen Sie noch einmal beim Posteingang.',
  plain_busy_text: 'Versuchen Sie es gleich noch einmal.',
  plain_error_title: 'Bei uns ist etwas schiefgegangen',
  plain_error_text: 'Der Fehler wurde als {id} protokolliert. Versuchen Sie es gleich noch einmal.',
  plain_buy_script:
    'Der Kauf braucht JavaScript, weil Ihr Browser das Geheimnis zum Abholen des Schlüssels speichern muss. Ohne JavaScript geht es im Terminal:',
  plain_order_script:
    'Diese Seite braucht JavaScript, weil das Abholgeheimnis Ihrer Bestellung Ihren Browser nicht verlässt. Ohne JavaScript geht es im Terminal:',
  plain_order_again:
    'Innerhalb von 24 Stunden lässt sich das wiederholen. Dann wird ein neuer Schlüssel erstellt und der alte sofort ungültig.',
  plain_key_script:
    'Diese Seite braucht JavaScript, weil Ihr Schlüssel Ihren Browser nicht verlässt. Ohne JavaScript geht es im Terminal:',
  plain_key_roll: 'Schlüssel erneuern (der alte gilt noch 24 Stunden):',
}
