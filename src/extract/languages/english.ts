import type { Language } from './language.ts'

export const english: Language = {
  code: `*code|*codes|passcode*|pin|pins|otp|otps|totp|one-time password*|one time password*
    |single-use password*|one-time pass|one-time key|verification number|security number
    |access number|token|temporary password|setup key|pairing key|activation key|door key|keypad
    |six digits|6 digits|six-digit*|6-digit*|four digits|4 digits|four-digit*|4-digit*
    |five-digit*|5-digit*|eight-digit*|8-digit*|following digits|digits below|these digits
    |digits shown|enter the number|type the number|following numbers`,
  secret: 'password|passphrase|key',
  sale: `promo*|coupon*|discount*|voucher*|gift|gift card|redeem*|redemption|savings|checkout
    |% off|off everything|off your|referral|refer a friend`,
  other: `order|invoice|tracking|booking|reservation|ticket|postal|post|zip|area|country|dialing
    |bar|qr|qr-code|barcode|source|error|status|response|dress|color|colour|swift|sort|conduct
    |of conduct|product|purchase|airport|tax|unicode|decode|encode|morse|genetic|cheat|license
    |licence|style|discount|tariff|batch|lot|penal|customer|client|member|membership|branch|agent
    |vendor|organization|medical|procedure|species|vin`,
  number: `order|order number|reference|ref|account|acct|customer|client|contract|ending
    |ending in|ending with|ends in|ends with|last 4 digits|last four digits|phone|tel|call|fax
    |mobile|text|room|suite|ste|apt|apartment|unit|seat|gate|flight|train|model|sku|article|isbn
    |part|serial|version|build|registration|reg|vat|po box|p.o. box|box|member*|loyalty
    |transaction|txn|request|case|incident|session|number|no|nr|num|id|locker|store|street|avenue
    |road|copyright|since|year|iban|bic|meeting|webinar|dial-in|conference|parcel|package
    |shipment|policy|claim|plate|employee|student|patient|points|miles|total|amount|balance
    |quantity|qty|confirmation number|issue|page|chapter|section|episode|receipt|statement|bill
    |terminal|pnr|device|OS|windows|ios|android|chrome|firefox|safari|edge|opera`,
  purpose: `verif*|confirm*|sign in|signing in|sign-in|signin|log in|login|log-in|logging in
    |authenticat*|two-factor|two-step|2-step|one-time|single-use|activat*|expire*|do not share
    |don't share|never share|do not forward|enter|type|didn't request|did not request|identity
    |unlock|access|security|register*|sign up|signing up`,
  type: `enter|enter it|enter this|type|type in|key in|dial in|punch|input|copy|paste|fill in
    |punch in|submit|use|use this|use the following|provide`,
  is: `is|are|as|is the following|below|is as follows|as follows|follows|is below|reads|will be
    |to use is`,
  particle: `of|to|for|the|this|your|in|our|a|an|use|new|at|on|with|following|and|my|into|it|own
    |personal|unique|secret|six-digit|digit|otp`,
  unit: `second*|sec|secs|minute*|min|mins|hour*|hr|hrs|day|days|week*|month*|year*|usd|eur|gbp
    |inr|dollar*|euro*|points|miles|km|kg|g|mg|ml|cm|mm|m|mah|kwh|w|gb|mb|kb|tb|px|people|users
    |items|pcs|times|characters|letters|steps|votes|stars|reviews|members|customers|st|nd|rd|th
    |avenue|ave|street|road|blvd|lane|ln|drive|dr|percent|lines|files|words|pages`,
  verify: `verif*|confirm*|activat*|validat*|complete registration|complete your registration
    |complete sign up|complete your sign|finish signing up|finish setting up|accept invitation
    |accept the invitation|accept invite`,
  signIn: `sign in|sign-in|signin|sign me in|log in|log-in|login|log me in|logging in|magic link
    |magic-link|one-time link|passwordless|open session|access your account`,
  reset: `reset*|new password|change password|change your password|change my password
    |change the password|update your password|create a password|choose a password|set a password
    |set your password|forgot*|recover*|lost password`,
  unsubscribe: `unsubscribe*|unsub|opt out|opt-out|optout|email preferences|mail preferences
    |email settings|notification settings|manage notifications|manage preferences
    |manage your preferences|manage emails|manage email|stop receiving|stop these|stop emails
    |no longer wish|update preferences|update your preferences|subscription preferences
    |communication preferences|mailing list`,
  here: `here|click here|this link|link|the link|this page|button|click|tap here|tap|open|go
    |continue|get started|start|next|ok|yes|yes it's me|this button|follow this link
    |click this link|press here`,
}
