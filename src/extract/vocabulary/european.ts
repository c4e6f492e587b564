import type { Vocabulary } from './vocabulary.ts'

export const english: Vocabulary = {
  code: `*code|*codes|passcode*|pin|pins|otp|otps|totp|one-time password*|one time password*|single-use password*|one-time pass
    |one-time key|verification number|security number|access number|token|temporary password|setup key|pairing key
    |activation key|door key|keypad|six digits|6 digits|six-digit*|6-digit*|four digits|4 digits|four-digit*|4-digit*
    |five-digit*|5-digit*|eight-digit*|8-digit*|following digits|digits below|these digits|digits shown|enter the number
    |type the number|following numbers`,
  secret: 'password|passphrase|key',
  sale: `promo*|coupon*|discount*|voucher*|gift|gift card|redeem*|redemption|savings|checkout|% off|off everything|off your
    |referral|refer a friend`,
  other: `order|invoice|tracking|booking|reservation|ticket|postal|post|zip|area|country|dialing|bar|qr|qr-code|barcode|source
    |error|status|response|dress|color|colour|swift|sort|conduct|of conduct|product|purchase|airport|tax|unicode|decode|encode
    |morse|genetic|cheat|license|licence|style|discount|tariff|batch|lot|penal|customer|client|member|membership|branch|agent
    |vendor|organization|medical|procedure|species|vin`,
  number: `order|order number|reference|ref|account|acct|customer|client|contract|ending|ending in|ending with|ends in|ends with
    |last 4 digits|last four digits|phone|tel|call|fax|mobile|text|room|suite|ste|apt|apartment|unit|seat|gate|flight|train
    |model|sku|article|isbn|part|serial|version|build|registration|reg|vat|po box|p.o. box|box|member*|loyalty|transaction|txn
    |request|case|incident|session|number|no|nr|num|id|locker|store|street|avenue|road|copyright|since|year|iban|bic|meeting
    |webinar|dial-in|conference|parcel|package|shipment|policy|claim|plate|employee|student|patient|points|miles|total|amount
    |balance|quantity|qty|confirmation number|issue|page|chapter|section|episode|receipt|statement|bill|terminal|pnr|device|OS
    |windows|ios|android|chrome|firefox|safari|edge|opera`,
  purpose: `verif*|confirm*|sign in|signing in|sign-in|signin|log in|login|log-in|logging in|authenticat*|two-factor|two-step
    |2-step|one-time|single-use|activat*|expire*|do not share|don't share|never share|do not forward|enter|type|didn't request
    |did not request|identity|unlock|access|security|register*|sign up|signing up`,
  type: `enter|enter it|enter this|type|type in|key in|dial in|punch|input|copy|paste|fill in|punch in|submit|use|use this
    |use the following|provide`,
  is: `is|are|as|is the following|below|is as follows|as follows|follows|is below|reads|will be|to use is`,
  particle: `of|to|for|the|this|your|in|our|a|an|use|new|at|on|with|following|and|my|into|it|own|personal|unique|secret
    |six-digit|digit|otp`,
  unit: `second*|sec|secs|minute*|min|mins|hour*|hr|hrs|day|days|week*|month*|year*|usd|eur|gbp|inr|dollar*|euro*|points|miles
    |km|kg|g|mg|ml|cm|mm|m|mah|kwh|w|gb|mb|kb|tb|px|people|users|items|pcs|times|characters|letters|steps|votes|stars|reviews
    |members|customers|st|nd|rd|th|avenue|ave|street|road|blvd|lane|ln|drive|dr|percent|lines|files|words|pages`,
  verify: `verif*|confirm*|activat*|validat*|complete registration|complete your registration|complete sign up
    |complete your sign|finish signing up|finish setting up|accept invitation|accept the invitation|accept invite`,
  signIn: `sign in|sign-in|signin|sign me in|log in|log-in|login|log me in|logging in|magic link|magic-link|one-time link
    |passwordless|open session|access your account`,
  reset: `reset*|new password|change password|change your password|change my password|change the password|update your password
    |create a password|choose a password|set a password|set your password|forgot*|recover*|lost password`,
  unsubscribe: `unsubscribe*|unsub|opt out|opt-out|optout|email preferences|mail preferences|email settings
    |notification settings|manage notifications|manage preferences|manage your preferences|manage emails|manage email
    |stop receiving|stop these|stop emails|no longer wish|update preferences|update your preferences|subscription preferences
    |communication preferences|mailing list`,
  here: `here|click here|this link|link|the link|this page|button|click|tap here|tap|open|go|continue|get started|start|next|ok
    |yes|yes it's me|this button|follow this link|click this link|press here`,
}

export const german: Vocabulary = {
  code: `*code|*codes|*-pin|*geheimzahl|pin|TAN|mTAN|smsTAN|*-tan|einmalpin|einmalpasswort|einmal-passwort|einmalkennwort
    |einmal-kennwort|*kennzahl|bestätigungsnummer|sicherheitsnummer|token|otp|*freischaltschlüssel|zugangsschlüssel|*prüfnummer
    |*kontrollnummer|sechsstellig*|6-stellig*|vierstellig*|4-stellig*|fünfstellig*|achtstellig*|sechs ziffern|folgende zahl
    |folgende zahlen|folgenden ziffern|folgende ziffern|zahlenfolge|zahlenkombination|ziffernfolge`,
  secret: 'passwort|kennwort|*schlüssel|einstiegspasswort',
  sale: `gutschein*|rabatt*|aktions*|coupon*|geschenk*|einlösen|sparen|angebot*|aktionscode|gutscheincode|rabattcode
    |empfehlungscode`,
  other: `bestell*|rechnung*|sendung*|buchung*|reservierung*|postleitzahl|plz|strichcode|barcode|verhaltens*|verhaltenscode
    |dresscode|kleider*|qr|qr-code|quell*|quellcode|fehler*|fehlercode|produkt*|artikel*|länder*|ländercode|farb*|farbcode
    |morsecode|flughafen*|kunden*|filial*|mitglieds*|veranstaltungs*|aktenzeichen|branchen*`,
  number: `tracking|ticket|referenz|az|konto|kontonummer|kunde|vertrag*|endet auf|endend auf|endziffern|letzten vier ziffern
    |letzten 4 ziffern|mit der endung|endung|telefon|tel|fax|mobil|anruf*|rufnummer|hotline|zimmer|sitz|platz|flug|zug|ICE
    |fahrkarte|modell|isbn|version|hrb|hra|ust-id|steuernummer|mitglied*|transaktion*|vorgang*|auftrag*|*nummer|nummern|nr
    |*straße|*str|*weg|*platz|*allee|*gasse|etage|jahr|seit|betrag|summe|gesamt|punkte|aktenzeichen|zähler*|ausweis|notruf
    |sperr-notruf|paketbox|box|fach|saison|iban|bic|blz|postfach|raum|ausgabe|karte`,
  purpose: `bestätig*|verifizier*|anmeld*|einlogg*|login|log-in|authentifi*|einmal*|aktivier*|freischalt*|freigabe|gültig|läuft*
    |verfällt|geben sie|gib|eingeben|eintipp*|nicht weiter*|niemandem|angefordert|identität|sicherheits*|zugang*|zurücksetz*
    |registrier*`,
  type: `geben sie|gib|eingeben|eintippen|tippen sie|tippe|eintragen|tragen sie|kopieren sie|kopiere|nutzen sie|nutze|benutze
    |benutzen sie|verwenden sie|verwende|einzugeben`,
  is: 'ist|als|lautet|lautet wie folgt|sind|wie folgt|folgende|folgenden|lauten',
  particle: `für|zu|zum|zur|die|der|das|den|ihr|ihre|dein|deine|bei|in|im|und|des|von|ein|eine|persönlicher`,
  unit: `sekunde*|minute*|min|stunde*|std|uhr|tag*|woche*|monat*|jahr*|euro*|eur|franken|chf|punkte*|km|kg|mal|personen|nutzer*
    |zeichen|ziffern|plätze|meter|stück|prozent|einwohner`,
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

export const french: Vocabulary = {
  code: `code|codes|pin|otp|mot de passe à usage unique|mot de passe temporaire|mot de passe provisoire|mot de passe unique
    |numéro de vérification|jeton|clé de sécurité|code secret|digicode|six chiffres|6 chiffres|quatre chiffres|4 chiffres
    |chiffres suivants|chiffres ci-après|chiffres ci-dessous|numéro suivant`,
  secret: 'mot de passe|clé',
  sale: `promo*|promotionnel*|avantage|réduction*|remise*|cadeau|carte cadeau|parrainage|bon d'achat|offre*|soldes|rabais`,
  other: `postal|commande|réservation|suivi|facture|barres|barre|conduite|pénal|civil|vestimentaire|erreur|qr|source|route
    |produit|article|client|pays|région|swift|travail|couleur|morse|génétique|ape|naf|guichet|dossier|insee|adhérent|agence
    |établissement|groupe|abonné|magasin|société|salarié|élève|événement|colis`,
  number: `référence|réf|compte|contrat|se terminant par|finissant par|terminant par|derniers chiffres|4 derniers chiffres
    |quatre derniers chiffres|téléphone|tél|appelez|appeler|fax|mobile|chambre|place|voiture|vol|train|billet|e-billet|modèle
    |isbn|version|siret|siren|rcs|tva|adhérent|transaction|demande|identifiant|numéro|n°|nº|no|rue|avenue|av|boulevard|boul|bd
    |étage|année|depuis|montant|total|solde|points|cedex|capital|opposition|abonné|TGV|TER|colis|bp|salle|quai|police|sinistre
    |immatriculation|carte|édition|service client`,
  purpose: `vérif*|confirm*|connexion|connecter|session|identifi*|authentif*|usage unique|activ*|expire*|valable|valide*
    |ne le partagez|ne communiquez|ne le communiquez|ne partagez|saisi*|entrez|identité|sécurité|accès|inscription`,
  type: `saisissez|saisir|saisis|entrez|entrer|tapez|taper|recopiez|recopier|reportez|reporter|copiez|copier|collez|indiquez
    |renseignez|utilisez|composez`,
  is: 'est|comme|est le|est le suivant|sont|suivant|ci-dessous|voici|ci-après',
  particle: `de|d|du|des|la|le|les|l|pour|votre|ton|à|au|un|une|sur|temporaire|unique|secret|personnel`,
  unit: `seconde*|minute*|min|heure*|h|jour*|semaine*|mois|ans|année*|euro*|eur|dollar*|points|km|kg|fois|personnes|utilisateurs
    |caractères|chiffres|places|mètres|rue|avenue|bis|ttc|ht`,
  verify: `vérif*|confirm*|activer*|activez|valider*|validez|activation|finaliser mon inscription|finaliser votre inscription
    |terminer mon inscription|accepter l'invitation`,
  signIn: `se connecter|me connecter|vous connecter|connectez-vous|connexion|identifiez-vous|s'identifier|accéder à mon compte
    |accéder à votre compte|lien magique|login`,
  reset: `réinitialis*|nouveau mot de passe|changer de mot de passe|changer mon mot de passe|changer votre mot de passe
    |changez votre mot de passe|modifier mon mot de passe|modifier votre mot de passe|modifiez votre mot de passe
    |changez de mot de passe|créer un mot de passe|choisir un mot de passe|mot de passe oublié|récupér*`,
  unsubscribe: `désabonn*|désinscri*|se désinscrire|vous désinscrire|me désinscrire|ne plus recevoir|gérer mes préférences
    |gérer vos préférences|préférences|gérer mes abonnements|désinscription|désabonnement`,
  here: `ici|cliquez ici|cliquer ici|ce lien|le lien|lien|bouton|ce bouton|continuer|commencer|ouvrir|voir|en cliquant ici
    |en suivant ce lien`,
}

export const spanish: Vocabulary = {
  code: `código|códigos|clave|claves|pin|otp|token|contraseña de un solo uso|contraseña temporal|número de verificación
    |número de seguridad|clave dinámica|código pin|seis dígitos|6 dígitos|6 cifras|seis cifras|cuatro dígitos|4 dígitos|4 cifras
    |siguientes dígitos|siguientes números|números siguientes`,
  secret: 'contraseña',
  sale: `descuento*|promocional*|promo*|cupón|cupones|regalo|tarjeta regalo|rebaja*|oferta*|de dto|canjear|canjea|referido*`,
  other: `postal|pedido|reserva|seguimiento|rastreo|envío|factura|barras|conducta|penal|civil|error|qr|fuente|vestimenta|área
    |país|producto|artículo|cliente|localizador|swift|tributario|ético|ética|color|morse|genético|operación|compra|afiliado
    |afiliada|empleado|tienda|sucursal|suscriptor|socio|alumno|evento|entidad|organismo|abonado|agente|vendedor`,
  number: `referencia|ref|cuenta|contrato|terminada en|termina en|terminado en|terminación|acabada en|últimos dígitos
    |últimos 4 dígitos|últimos cuatro dígitos|teléfono|tel|llama|llame|llamando|llamar|móvil|habitación|asiento|vuelo|boleto
    |billete|entrada|modelo|isbn|versión|cif|nif|dni|ruc|rut|cuit|socio|transacción|solicitud|expediente|caso|número|núm|n.º|nº
    |n°|calle|avenida|av|piso|año|desde|historia|trámite|folio|importe|total|saldo|puntos|grupo|sucursal|paquete|guía|cups
    |afiliado|póliza|matrícula|cédula|tarjeta|apartado|terminal|aula|tomo|edición`,
  purpose: `verific*|confirm*|iniciar sesión|inicia sesión|inicio de sesión|acceso|acceder|ingres*|autentic*|autoriz*
    |un solo uso|activ*|caduca|vence|expira|válido|no lo compart*|no compart*|introduc*|introdúc*|escrib*|solicit*|identidad
    |seguridad|registro`,
  type: `introduce*|introduzca*|introdúzca*|introdúce*|ingresa*|ingrese|ingresá|escribe*|escriba*|escribí|digita*|digite|teclea*
    |teclee|marca|marque|marcá|copia|copie|pega|usa|use|usá|utiliza|utilice|indica`,
  is: 'es|como|es el|es el siguiente|son|siguiente|a continuación|es la siguiente',
  particle: 'de|del|la|el|para|tu|su|en|un|una|a|al|que|temporal|único|nuevo',
  unit: `segundo*|minuto*|min|hora*|h|día*|semana*|mes|meses|año*|euro*|eur|dólar*|peso*|usd|mxn|puntos|km|kg|veces|personas
    |usuarios|caracteres|dígitos|metros|socios|clientes|plazas`,
  verify: `verific*|confirm*|activar*|activa tu|activa su|validar*|valida tu|valida su|completa tu registro|completar registro
    |completar el registro|activación|aceptar invitación|aceptar la invitación`,
  signIn: `iniciar sesión|inicia sesión|inicie sesión|inicio de sesión|entrar|acceder a mi cuenta|acceder a tu cuenta
    |acceder a su cuenta|accede a tu cuenta|ingresar|ingresa a tu cuenta|enlace mágico|enlace de acceso|login`,
  reset: `restablec*|restablezca|cambiar contraseña|cambiar la contraseña|cambia tu contraseña|cambie su contraseña
    |cambiar tu contraseña|cambiar mi contraseña|nueva contraseña|crear contraseña|crea una contraseña|recuperar*|recupera tu
    |olvid*`,
  unsubscribe: `darse de baja|darte de baja|date de baja|dése de baja|darme de baja|dar de baja|baja|cancelar suscripción
    |cancelar la suscripción|cancelar tu suscripción|anular suscripción|anular la suscripción|desuscri*|desuscrib*
    |preferencias de correo|gestionar preferencias|dejar de recibir|no deseas recibir|no quieres recibir|preferencias de email`,
  here: `aquí|haz clic aquí|haga clic aquí|clic aquí|pulsa aquí|este enlace|el enlace|enlace|botón|este botón|continuar|empezar
    |ver|abrir`,
}

export const portuguese: Vocabulary = {
  code: `código|códigos|pin|otp|token|senha de uso único|senha temporária|senha descartável|senha provisória
    |palavra-passe temporária|palavra-passe de utilização única|número de verificação|chave de segurança|chave de acesso
    |seis dígitos|6 dígitos|quatro dígitos|4 dígitos|dígitos abaixo|números abaixo|números a seguir|dígitos a seguir`,
  secret: 'senha|palavra-passe|chave',
  sale: `desconto*|promocional*|promo*|cupom|cupons|cupão|presente|vale-presente|oferta*|resgate|resgatar|indicação`,
  other: `postal|pedido|encomenda|reserva|rastreio|rastreamento|envio|fatura|barras|conduta|penal|civil|erro|qr|fonte|vestimenta
    |área|país|produto|artigo|cliente|localizador|swift|tributário|ética|cor|morse|genético|boleto|compra|associado|funcionário
    |loja|agência|assinante|sócio|aluno|evento|entidade|revendedor|instalação`,
  number: `referência|ref|conta|contrato|final|terminado em|terminada em|últimos dígitos|últimos 4 dígitos
    |últimos quatro dígitos|telefone|tel|ligue|ligar|ramal|celular|telemóvel|quarto|assento|voo|bilhete|ingresso|modelo|isbn
    |versão|cpf|cnpj|nif|rg|sócio|transação|solicitação|protocolo|matrícula|processo|número|núm|nº|n.º|n°|rua|avenida|av|andar
    |ano|desde|placa|total|valor|saldo|pontos|agência|linha digitável|apólice|central|cep|cartão|sala|edição`,
  purpose: `verific*|confirm*|iniciar sessão|entrar|acesso|acessar|aceder|autentic*|autoriz*|uso único|ativ*|expira|caduca
    |válido|vale por|não compartilhe|não partilhe|não informe|digite|digita|introduz*|inform*|insira|identidade|segurança
    |validar|validação|cadastro|login`,
  type: `digite|digita*|digitar|introduza*|introduzir|insira*|inserir|informe|informar|escreva|copie|cole|use|usa|utilize
    |preencha`,
  is: 'é|como|é o|é o seguinte|são|seguinte|abaixo|a seguir',
  particle: 'de|do|da|o|a|para|seu|sua|no|na|em|um|uma|que|temporário|único',
  unit: `segundo*|minuto*|min|hora*|h|dia|dias|semana*|mês|meses|ano|anos|reais|real|euro*|pontos|km|kg|vezes|pessoas|usuários
    |utilizadores|caracteres|dígitos|metros|caminhantes|clientes`,
  verify: `verific*|confirm*|ativar*|ative sua|ative a sua|ative seu|ativação|validar*|valide seu|valide o seu|concluir cadastro
    |concluir registo|completar cadastro|aceitar convite`,
  signIn: `entrar|iniciar sessão|inicie sessão|fazer login|faça login|acessar conta|acessar minha conta|acessar sua conta
    |acesse sua conta|aceder à conta|login|link mágico|link de acesso`,
  reset: `redefin*|redefina|repor senha|repor a senha|repor palavra-passe|repor a palavra-passe|alterar senha|alterar a senha
    |alterar sua senha|altere sua senha|trocar senha|trocar a senha|troque sua senha|troque a senha|nova senha
    |nova palavra-passe|alterar a palavra-passe|altere a palavra-passe|criar senha|crie uma nova senha|recuper*|esqueci*
    |esqueceu*|mudar senha`,
  unsubscribe: `descadastr*|cancelar inscrição|cancelar a inscrição|cancelar subscrição|cancelar a subscrição
    |cancele sua inscrição|sair da lista|remover meu e-mail|deixar de receber|não quer mais receber|não deseja mais receber
    |não deseja receber|preferências de e-mail|gerenciar preferências|anular subscrição`,
  here: `aqui|clique aqui|clica aqui|este link|link|o link|botão|este botão|continuar|começar|abrir|ver`,
}

export const russian: Vocabulary = {
  code: `код|кода|коду|кодом|коде|коды|кодов|пин|пин-код*|пинкод*|одноразовый пароль|одноразового пароля|временный пароль
    |разовый пароль|пароль для входа|токен|otp|pin|sms-код*|смс-код*|комбинаци* цифр|шесть цифр|6 цифр|четыре цифры|4 цифры
    |шестизначн*|четырехзначн*|пятизначн*|следующие цифры|эти цифры|цифры ниже|число`,
  secret: 'пароль|ключ',
  sale: 'промо*|промокод*|скидк*|купон*|сертификат*|подарочн*|распродаж*|акци*|бонус*|кэшбэк*',
  other: `заказа|почтов*|штрих*|штрих-код*|qr|qr-код*|ошибк*|исходн*|исходный код|дресс*|дресс-код*|уголовн*|гражданск*|трек*
    |трек-код*|товара|брони|бронирования|отслежив*|страны|города|региона|подразделения|организации|плательщика|услуги|абонента
    |клиента|валюты|страховщика|продавца|эмитента|продукта|магазина|участника|группы|мероприятия|получателя|дилера|агента|дохода
    |бюджетной|оквэд|окпо`,
  number: `последние 4 цифры|последние четыре цифры|последними цифрами|заказ|заказ*|счёт*|счет*|накладн*|брон*|билет*|договор*
    |клиент*|карт*|индекс*|телефон*|тел|звоните|позвоните|факс|доб|комнат*|квартир*|кв|дом|д|корп|мест*|рейс*|поезд*|вагон*
    |модель|артикул|арт|версия|версии|инн|огрн|кпп|бик|заявк*|обращени*|транзакци*|операци*|номер*|№|улиц*|ул|проспект|пр-т|пер
    |год*|сумм*|итого|остаток|баланс|балл*|постамат*|ячейк*|посылк*|отправлени*|с номера|снилс|страниц*|глав*|выпуск*|полис*|каб
    |кабинет`,
  purpose: `подтвер*|войти|вход*|авториз*|аутентиф*|верифик*|одноразов*|активац*|действует|действител*|истека*|никому
    |не сообщайте|введите|введи|ввод*|безопасност*|доступ*|восстановлени*|регистрац*|двухфактор*|запрос*|укажите`,
  type: `введите|введи|ввести|вводите|укажите|укажи|наберите|набери|впишите|скопируйте|вставьте|используйте`,
  is: 'это|как|следующий|ниже|таков',
  particle: 'для|в|на|к|ваш|твой|по|из|и|вашей|вашего|доступа|входа',
  unit: `секунд*|минут*|мин|час|часа|часов|ч|дн*|день|недел*|месяц*|год*|лет|г|руб*|р|рублей|балл*|км|кг|гр|мл|шт|раз|человек
    |пользовател*|мест|кв|м|квт*`,
  verify: `подтвер*|активир*|активац*|верифиц*|завершить регистрацию|завершите регистрацию|принять приглашение`,
  signIn: 'войти|вход|войдите|для входа|авториз*|вход в аккаунт',
  reset: `сброс*|новый пароль|изменить пароль|измените пароль|смените пароль|сменить пароль|восстанов*|забыли пароль
    |задать пароль`,
  unsubscribe: `отпис*|отказаться от рассылки|настройки уведомлений|настройки рассылки|управление подпиской|управлять подпиской
    |не получать|отказ от рассылки`,
  here: `здесь|сюда|тут|по ссылке|эта ссылка|этой ссылке|ссылка|ссылке|нажмите здесь|кнопка|кнопку|перейти|продолжить|открыть
    |далее|начать`,
}
