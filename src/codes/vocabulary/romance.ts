import type { Vocabulary } from './vocabulary.ts'

export const spanish: Vocabulary = {
  script: 'Latin',
  common: `no|con|por|si|este|esta|se|has|ha|los|las|y|hola|gracias|te|nos|hemos|usted|más|sus|tus|lo|le|estimado|estimada
    |saludos|o|fue|pero|aquí|nunca|nadie`,
  code: `dígitos|cifras|código|códigos|clave|claves|pin|otp|token|contraseña de un solo uso|contraseña temporal
    |número de verificación|número de seguridad|clave dinámica|código pin|seis dígitos|6 dígitos|6 cifras|seis cifras
    |cuatro dígitos|4 dígitos|4 cifras|siguientes dígitos|siguientes números|números siguientes`,
  secret: 'contraseña',
  authorization: 'código de autorización|código autorización|clave de autorización',
  receipt: 'recibo|comprobante|tique|ticket de compra|terminal|copia para el cliente',
  sale: `descuento*|promocional*|promo*|cupón|cupones|regalo|tarjeta regalo|rebaja*|oferta*|de dto|canjear|canjea|referido*`,
  other: `postal|pedido|reserva|seguimiento|rastreo|envío|factura|barras|conducta|penal|civil|error|qr|fuente|vestimenta
    |área|país|producto|artículo|cliente|localizador|swift|tributario|ético|ética|color|morse|genético|operación|compra
    |afiliado|afiliada|empleado|tienda|sucursal|suscriptor|socio|alumno|evento|entidad|organismo|abonado|agente|vendedor
    |vuelo|paquete|certificación|certificado|norma|salida|retorno|estado|laboral|trabajo|comercio|comercial`,
  number: `referencia|ref|cuenta|contrato|terminada en|termina en|terminado en|terminación|acabada en|últimos dígitos
    |últimos 4 dígitos|últimos cuatro dígitos|teléfono|tel|llama|llame|llamando|llamar|móvil|habitación|asiento|vuelo
    |boleto|billete|entrada|modelo|isbn|versión|cif|nif|dni|ruc|rut|cuit|socio|transacción|solicitud|expediente|caso
    |número|núm|n.º|nº|n°|calle|avenida|av|piso|año|desde|historia|trámite|folio|importe|total|saldo|puntos|grupo
    |sucursal|paquete|guía|cups|afiliado|póliza|matrícula|cédula|tarjeta|apartado|terminal|aula|tomo|edición|pago de
    |transferencia de|compra de|art|comercio`,
  neutral: 'número|números|núm|nº|n.º',
  meeting: 'reunión*|videollamada*|videoconferencia*|conferencia*|seminario web|webinar*',
  purpose: `verific*|confirm*|iniciar sesión|inicia sesión|inicio de sesión|acceso|acceder|ingres*|autentic*|autoriz*
    |un solo uso|activ*|caduca|vence|expira|válido|no lo compart*|no compart*|introduc*|introdúc*|escrib*|solicit*|identidad
    |seguridad|registro`,
  type: `introduce*|introduzca*|introdúzca*|introdúce*|ingresa*|ingrese|ingresá|escribe*|escriba*|escribí|digita*|digite
    |teclea*|teclee|marca|marque|marcá|copia|copie|pega|usa|use|usá|utiliza|utilice|indica|introducir|ingresar|ingresando
    |escribir|escribiendo|teclear|teclea|pon|ponga|anota|anote|copiar|pegar|usar|usando|utilizar|utilizando|emplea|mete
    |rellena|con el`,
  is: 'es|como|es el|es el siguiente|son|siguiente|a continuación|es la siguiente',
  particle: 'de|del|la|el|para|tu|su|en|un|una|a|al|que|temporal|único|nuevo',
  unit: `segundo*|minuto*|min|hora*|h|día*|semana*|mes|meses|año*|euro*|eur|dólar*|peso*|usd|mxn|puntos|km|kg|veces|personas
    |usuarios|caracteres|metros|socios|clientes|plazas`,
  verify: `verific*|confirm*|activar*|activa tu|activa su|validar*|valida tu|valida su|completa tu registro
    |completar registro|completar el registro|activación|aceptar invitación|aceptar la invitación`,
  signIn: `iniciar sesión|inicia sesión|inicie sesión|inicio de sesión|entrar|acceder a mi cuenta|acceder a tu cuenta
    |acceder a su cuenta|accede a tu cuenta|ingresar|ingresa a tu cuenta|enlace mágico|enlace de acceso|login`,
  reset: `restablec*|restablezca|cambiar contraseña|cambiar la contraseña|cambia tu contraseña|cambie su contraseña
    |cambiar tu contraseña|cambiar mi contraseña|nueva contraseña|crear contraseña|crea una contraseña|recuperar*
    |recupera tu|olvid*`,
  unsubscribe: `darse de baja|darte de baja|date de baja|dése de baja|darme de baja|dar de baja|baja|cancelar suscripción
    |cancelar la suscripción|cancelar tu suscripción|anular suscripción|anular la suscripción|desuscri*|desuscrib*
    |preferencias de correo|gestionar preferencias|dejar de recibir|no deseas recibir|no quieres recibir
    |preferencias de email`,
  here: `aquí|haz clic aquí|haga clic aquí|clic aquí|pulsa aquí|este enlace|el enlace|enlace|botón|este botón|continuar
    |empezar|ver|abrir`,
}

export const portuguese: Vocabulary = {
  script: 'Latin',
  common: `não|com|por|se|você|este|esta|os|as|e|olá|obrigado|obrigada|nos|foi|mais|ou|dos|das|ao|à|pelo|pela|está|isso
    |nunca|ninguém|atenciosamente|caro|prezado|recebeu|sua|seus`,
  code: `dígitos|código|códigos|pin|otp|token|senha de uso único|senha temporária|senha descartável|senha provisória
    |palavra-passe temporária|palavra-passe de utilização única|número de verificação|chave de segurança|chave de acesso
    |seis dígitos|6 dígitos|quatro dígitos|4 dígitos|dígitos abaixo|números abaixo|números a seguir|dígitos a seguir`,
  secret: 'senha|palavra-passe|chave',
  authorization: 'código de autorização|código autorização',
  receipt: 'comprovante|comprovativo|recibo|talão|terminal|via do cliente',
  sale: `desconto*|promocional*|promo*|cupom|cupons|cupão|presente|vale-presente|oferta*|resgate|resgatar|indicação`,
  other: `postal|pedido|encomenda|reserva|rastreio|rastreamento|envio|fatura|barras|conduta|penal|civil|erro|qr|fonte
    |vestimenta|área|país|produto|artigo|cliente|localizador|swift|tributário|ética|cor|morse|genético|boleto|compra
    |associado|funcionário|loja|agência|assinante|sócio|aluno|evento|entidade|revendedor|instalação|voo|pacote
    |certificação|certificado|norma|saída|retorno|estado|trabalho|comercial`,
  number: `referência|ref|conta|contrato|final|terminado em|terminada em|últimos dígitos|últimos 4 dígitos
    |últimos quatro dígitos|telefone|tel|ligue|ligar|ramal|celular|telemóvel|quarto|assento|voo|bilhete|ingresso|modelo
    |isbn|versão|cpf|cnpj|nif|rg|sócio|transação|solicitação|protocolo|matrícula|processo|número|núm|nº|n.º|n°|rua
    |avenida|av|andar|ano|desde|placa|total|valor|saldo|pontos|agência|linha digitável|apólice|central|cep|cartão|sala
    |edição|pagamento de|transferência de|compra de|artigo|art|terminal|estabelecimento`,
  neutral: 'número|números|núm|nº|n.º',
  meeting: 'reunião|reuniões|videochamada*|videoconferência*|conferência*|webinar*',
  purpose: `verific*|confirm*|iniciar sessão|entrar|acesso|acessar|aceder|autentic*|autoriz*|uso único|ativ*|expira|caduca
    |válido|vale por|não compartilhe|não partilhe|não informe|digite|digita|introduz*|inform*|insira|identidade|segurança
    |validar|validação|cadastro|login`,
  type: `digite|digita*|digitar|introduza*|introduzir|insira*|inserir|informe|informar|escreva|copie|cole|use|usa|utilize
    |preencha|digitando|informa|insere|escreve|escrever|introduz|coloque|coloca|copiar|colar|usar|usando|utilizar|utilizando
    |utiliza|preencher|indica|indique`,
  is: 'é|como|é o|é o seguinte|são|seguinte|abaixo|a seguir',
  particle: 'de|do|da|o|a|para|seu|sua|no|na|em|um|uma|que|temporário|único',
  unit: `segundo*|minuto*|min|hora*|h|dia|dias|semana*|mês|meses|ano|anos|reais|real|euro*|pontos|km|kg|vezes|pessoas
    |usuários|utilizadores|caracteres|metros|caminhantes|clientes`,
  verify: `verific*|confirm*|ativar*|ative sua|ative a sua|ative seu|ativação|validar*|valide seu|valide o seu
    |concluir cadastro|concluir registo|completar cadastro|aceitar convite`,
  signIn: `entrar|iniciar sessão|inicie sessão|fazer login|faça login|acessar conta|acessar minha conta|acessar sua conta
    |acesse sua conta|aceder à conta|login|link mágico|link de acesso`,
  reset: `redefin*|redefina|repor senha|repor a senha|repor palavra-passe|repor a palavra-passe|alterar senha
    |alterar a senha|alterar sua senha|altere sua senha|trocar senha|trocar a senha|troque sua senha|troque a senha
    |nova senha|nova palavra-passe|alterar a palavra-passe|altere a palavra-passe|criar senha|crie uma nova senha|recuper*
    |esqueci*|esqueceu*|mudar senha`,
  unsubscribe: `descadastr*|cancelar inscrição|cancelar a inscrição|cancelar subscrição|cancelar a subscrição
    |cancele sua inscrição|sair da lista|remover meu e-mail|deixar de receber|não quer mais receber|não deseja mais receber
    |não deseja receber|preferências de e-mail|gerenciar preferências|anular subscrição`,
  here: `aqui|clique aqui|clica aqui|este link|link|o link|botão|este botão|continuar|começar|abrir|ver`,
}

export const french: Vocabulary = {
  script: 'Latin',
  common: `vous|nous|et|ne|pas|que|qui|avec|ce|cette|est|avez|dans|si|bonjour|merci|vos|nos|par|il|ou|cordialement|plus|aux
    |tu|ta|tes|en|ci|afin|été|êtes`,
  code: `chiffres|combinaison|code|codes|pin|otp|mot de passe à usage unique|mot de passe temporaire|mot de passe provisoire
    |mot de passe unique|numéro de vérification|jeton|clé de sécurité|code secret|digicode|six chiffres|6 chiffres
    |quatre chiffres|4 chiffres|chiffres suivants|chiffres ci-après|chiffres ci-dessous|numéro suivant`,
  secret: 'mot de passe|clé',
  authorization: `code d'autorisation|code autorisation`,
  receipt: 'ticket|reçu|justificatif|terminal|ticket client',
  sale: `promo*|promotionnel*|avantage|réduction*|remise*|cadeau|carte cadeau|parrainage|bon d'achat|offre*|soldes|rabais`,
  other: `postal|commande|réservation|suivi|facture|barres|barre|conduite|pénal|civil|vestimentaire|erreur|qr|source
    |route|produit|article|client|pays|région|swift|travail|couleur|morse|génétique|ape|naf|guichet|dossier|insee
    |adhérent|agence|établissement|groupe|abonné|magasin|société|salarié|élève|événement|colis|vol|envoi|expédition
    |certification|certificat|norme|sortie|retour|statut|commerce|procédure`,
  number: `référence|réf|compte|contrat|se terminant par|finissant par|terminant par|derniers chiffres
    |4 derniers chiffres|quatre derniers chiffres|téléphone|tél|appelez|appeler|fax|mobile|chambre|place|voiture|vol
    |train|billet|e-billet|modèle|isbn|version|siret|siren|rcs|tva|adhérent|transaction|demande|identifiant|numéro|n°|nº
    |no|rue|avenue|av|boulevard|boul|bd|étage|année|depuis|montant|total|solde|points|cedex|capital|opposition|abonné
    |TGV|TER|colis|bp|salle|quai|police|sinistre|immatriculation|carte|édition|service client|paiement de|virement de
    |achat de|article|art|terminal|commerçant|autorisation`,
  neutral: 'numéro|numéros|nombre|n°|nº',
  meeting: 'réunion*|visioconférence*|visio|conférence*|webinaire*',
  purpose: `vérif*|confirm*|connexion|connecter|session|identifi*|authentif*|usage unique|activ*|expire*|valable|valide*
    |ne le partagez|ne communiquez|ne le communiquez|ne partagez|saisi*|entrez|identité|sécurité|accès|inscription`,
  type: `saisissez|saisir|saisis|entrez|entrer|tapez|taper|recopiez|recopier|reportez|reporter|copiez|copier|collez|indiquez
    |renseignez|utilisez|composez|saisissant|entrant|tape|entre|indique|indiquer|renseigner|renseigne|inscrivez|inscrire
    |utiliser|utilise|utilisant|copie|note|notez|mettez|reporte`,
  is: 'est|comme|est le|est le suivant|sont|suivant|ci-dessous|voici|ci-après',
  particle: `de|d|du|des|la|le|les|l|pour|votre|ton|à|au|un|une|sur|temporaire|unique|secret|personnel`,
  unit: `seconde*|minute*|min|heure*|h|jour*|semaine*|mois|ans|année*|euro*|eur|dollar*|points|km|kg|fois|personnes
    |utilisateurs|caractères|places|mètres|rue|avenue|bis|ttc|ht`,
  verify: `vérif*|confirm*|activer*|activez|valider*|validez|activation|finaliser mon inscription
    |finaliser votre inscription|terminer mon inscription|accepter l'invitation`,
  signIn: `se connecter|me connecter|vous connecter|connectez-vous|connexion|identifiez-vous|s'identifier
    |accéder à mon compte|accéder à votre compte|lien magique|login`,
  reset: `réinitialis*|nouveau mot de passe|changer de mot de passe|changer mon mot de passe|changer votre mot de passe
    |changez votre mot de passe|modifier mon mot de passe|modifier votre mot de passe|modifiez votre mot de passe
    |changez de mot de passe|créer un mot de passe|choisir un mot de passe|mot de passe oublié|récupér*`,
  unsubscribe: `désabonn*|désinscri*|se désinscrire|vous désinscrire|me désinscrire|ne plus recevoir|gérer mes préférences
    |gérer vos préférences|préférences|gérer mes abonnements|désinscription|désabonnement`,
  here: `ici|cliquez ici|cliquer ici|ce lien|le lien|lien|bouton|ce bouton|continuer|commencer|ouvrir|voir|en cliquant ici
    |en suivant ce lien`,
}

export const italian: Vocabulary = {
  script: 'Latin',
  common: `che|non|con|sei|hai|ha|questa|questo|nel|nella|ti|ci|abbiamo|se|grazie|ciao|gentile|stai|puoi|entro|richiesto
    |tuoi|suoi|gli|le|i|è|sono|sul|sulla|dal|dalla|qui|anche|buongiorno|saluti|mai|nessuno`,
  code: `cifre|combinazione|codice|codici|password monouso|password temporanea|password usa e getta|password provvisoria
    |sei cifre|6 cifre|quattro cifre|4 cifre|cinque cifre|8 cifre|cifre seguenti|seguenti cifre|seguenti numeri
    |numero di verifica|chiave di accesso|chiave temporanea`,
  secret: `password|chiave|parola chiave|parola d'ordine`,
  authorization: 'codice di autorizzazione|codice autorizzazione',
  receipt: 'scontrino|ricevuta|terminale|copia cliente',
  sale: `sconto|sconti|scontato|promo*|coupon|buono|buoni|regalo|offerta|offerte|saldi|risparmi*|cashback|amico
    |invita un amico`,
  other: `postale|fiscale|ordine|prenotazione|tracciamento|tracciatura|spedizione|fattura|barre|a barre|cliente|articolo
    |prodotto|errore|sorgente|penale|civile|sdi|destinatario|paese|colore|etico|condotta|strada|pratica|biglietto|volo
    |abbonamento|socio|tessera|contratto|fornitore|avviso|ateco|negozio|filiale|ente|azienda|catastale|acquisto|reso
    |pacco|certificazione|certificato|norma|uscita|ritorno|stato|lavoro|commercio|procedura`,
  number: `ordine|riferimento|rif|conto|contratto|che termina con|termina con|terminante con|ultime quattro cifre
    |ultime 4 cifre|telefono|telefonico|chiama|chiamaci|chiamare|cellulare|camera|posto|volo|treno|biglietto|carrozza
    |modello|versione|partita iva|p.iva|p. iva|c.f|transazione|richiesta|pratica|protocollo|numero|num|n°|nº|n.|via
    |viale|piazza|corso|cap|anno|dal|importo|totale|saldo|punti|bolletta|polizza|tessera|pacco|collo|spedizione
    |prenotazione|fattura|scontrino|carta|sportello|pagamento di|bonifico di|acquisto di|articolo|art|terminale
    |esercente`,
  neutral: 'numero|numeri|num|n°',
  meeting: 'riunione|riunioni|videochiamata|videoconferenza|conferenza|webinar*|call di gruppo',
  purpose: `verific*|conferm*|access*|accedi|accedere|autentic*|autorizz*|monouso|attiv*|scad*|valido|valida|validità
    |non condivid*|non comunic*|inserisc*|inserir*|identità|sicurezza|registr*|convalid*|reimpost*`,
  type: `inserisci|inserisca|inserire|inseriscilo|inserite|digita|digitare|digiti|copia|copiare|incolla|usa|utilizza
    |utilizzi|usare|immetti|immettere|scrivi|riporta|digitando|inserendo|immettendo|scrivere|scriva|usi|usando|utilizzare
    |utilizzando|copi|inserisce|indica|indichi|riportare|compila|metti`,
  is: 'è|sono|è il seguente|seguente|di seguito|qui sotto|ecco|sarà|il seguente',
  particle: `di|del|della|dello|il|la|lo|per|tuo|tua|suo|sua|a|al|alla|in|un|una|l|d|dell|all|questo|temporaneo|nuovo|e|da
    |personale|vostro|segreto`,
  unit: `second*|minut*|ora|ore|giorn*|settiman*|mese|mesi|anno|anni|euro|punti|km|kg|volte|persone|utenti|caratteri|metri
    |clienti|posti|pezzi|mila`,
  verify: `verific*|conferm*|attivare|attiva il|attiva l|attiva la|attivazione|convalid*|completa la registrazione
    |completare la registrazione|accetta l'invito`,
  signIn: 'accedi|accedere|accesso|entra|login|link magico|link di accesso',
  reset: `reimpost*|nuova password|cambia password|cambia la password|cambiare la password|modifica password
    |modifica la password|password dimenticata|dimenticato la password|recuper*|ripristin*`,
  unsubscribe: `disiscri*|cancella iscrizione|annulla iscrizione|annulla l'iscrizione|cancellarti|cancellati
    |non ricevere più|gestisci preferenze|preferenze email|gestisci le preferenze|disdici`,
  here: `qui|clicca qui|questo link|link|il link|pulsante|questo pulsante|continua|apri|vai|vedi|inizia`,
}

export const catalan: Vocabulary = {
  script: 'Latin',
  common: `que|no|amb|els|les|aquest|aquesta|si|has|ha|hem|gràcies|hola|teu|teva|vostre|vostra|seu|seva|us|et|per|i|és|són
    |als|dels|pel|salutacions|estimat|estimada|benvolgut|ens|ho|ningú|mai|o|sol·licitat|més|hi|també`,
  code: `dígits|xifres|codi|codis|clau d'accés|contrasenya d'un sol ús|contrasenya temporal|clau temporal|sis dígits
    |6 dígits|sis xifres|6 xifres|quatre dígits|4 dígits|quatre xifres|4 xifres|dígits següents|xifres següents
    |número de verificació`,
  secret: 'contrasenya|clau',
  authorization: `codi d'autorització`,
  receipt: 'rebut|tiquet|comprovant|terminal',
  sale: 'descompte*|promo*|cupó|cupons|val|regal|oferta|ofertes|rebaix*|bescanvi*|estalvi*',
  other: `postal|comanda|reserva|seguiment|enviament|factura|de barres|barres|client|article|producte|error|font|penal
    |civil|país|color|conducta|vestimenta|bitllet|vol|soci|contracte|botiga|alumne|empleat|localitzador|compra|paquet
    |certificació|certificat|norma|sortida|retorn|estat|treball`,
  number: `comanda|referència|ref|compte|contracte|acabat en|acabada en|acaba en|que acaba en|últims quatre dígits
    |últims 4 dígits|darrers quatre dígits|telèfon|truca|truqueu|mòbil|habitació|seient|vol|tren|bitllet|model|versió
    |nif|cif|transacció|sol·licitud|expedient|número|núm|n.º|nº|n°|carrer|avinguda|plaça|pis|any|des de|import|total
    |saldo|punts|pòlissa|targeta|paquet|enviament|reserva|factura|tiquet|rebut|soci|carnet|pagament de|transferència de
    |compra de|art|terminal`,
  neutral: 'número|números|núm',
  meeting: 'reunió|reunions|videotrucada*|videoconferència*|conferència*|seminari web|webinar*',
  purpose: `verific*|confirm*|iniciar sessió|inicia sessió|inici de sessió|accés|accedir|autentic*|autoritz*|un sol ús
    |activ*|caduca|expira|vàlid|vàlida|vigència|no el comparteix*|no compart*|introdu*|escriu*|identitat|seguretat|registr*
    |valid*`,
  type: `introdueix|introduïu|introdueixi|introduir|escriu|escriviu|escriure|copia|copieu|enganxa|fes servir|feu servir
    |utilitza|utilitzeu|tecleja|introduint|escrivint|usa|useu|usar|utilitzar|utilitzant|copiar|posa|poseu|indica|indiqueu
    |digita|digiteu`,
  is: 'és|són|és el següent|següent|a continuació|és aquest',
  particle: 'de|del|d|la|el|l|per|a|al|teu|seu|vostre|un|una|en|aquest|temporal|nou|i|personal',
  unit: `segon*|minut*|hora|hores|h|dia|dies|setman*|mes|mesos|any|anys|euro*|punts|km|kg|vegades|persones|usuaris|caràcters
    |metres|clients|places`,
  verify: `verific*|confirm*|activar|activa el|activa la|activeu|validar|valida el|completa el registre|accepta la invitació`,
  signIn: 'iniciar sessió|inicia sessió|inicieu sessió|entrar|accedir|enllaç màgic',
  reset: `restabl*|nova contrasenya|canviar contrasenya|canvia la contrasenya|canviar la contrasenya|recuper*|oblidat`,
  unsubscribe: `donar-se de baixa|donar-te de baixa|dona't de baixa|donar de baixa|doneu-vos de baixa|baixa
    |cancel·lar la subscripció|cancel·la la subscripció|deixar de rebre|preferències de correu`,
  here: `aquí|fes clic aquí|feu clic aquí|aquest enllaç|enllaç|l'enllaç|botó|continuar|obrir|veure`,
}

export const romanian: Vocabulary = {
  script: 'Latin',
  common: `nu|cu|pentru|este|sunt|dacă|acest|această|ați|ai|am|și|vă|bună|mulțumim|mulțumesc|salut|dumneavoastră|dvs|tău
    |tale|ta|să|fi|care|din|pe|sau|mai|ne|te|dumneavoastra|stimate|stimată|cont|contul|nimeni|nimănui|în|la|o|fost`,
  code: `cifre|cifrele|cod|codul|codului|coduri|codurile|parolă unică|parola unică|parolă de unică folosință
    |parola de unică folosință|parolă temporară|parola temporară|șase cifre|6 cifre|patru cifre|4 cifre|cifrele următoare
    |următoarele cifre|număr de verificare|numărul de verificare|cheie de acces|cheia de acces`,
  secret: 'parolă|parola|cheie|cheia',
  authorization: 'cod de autorizare|cod autorizare|codul de autorizare',
  receipt: 'bon|chitanță|terminal',
  sale: `reducere|reduceri|reducerea|discount*|promo*|cupon|cuponul|cupoane|voucher*|cadou|ofertă|oferta|oferte|economis*
    |recomandare|black friday`,
  other: `poștal|postal|comandă|comenzii|comanda|rezervare|rezervării|urmărire|livrare|factură|facturii|de bare|bare
    |client|clientului|articol|produs|produsului|eroare|sursă|penal|civil|fiscal|țară|culoare|conduită|bilet|biletului
    |zbor|contract|abonat|abonatului|magazin|agent|caen|iban|awb|unic de înregistrare|numeric personal|zborului|colet
    |coletului|certificare|certificat|standard|ieșire|retur|muncii|rutier`,
  number: `comandă|comanda|comenzii|comenzi|referință|ref|cont|contul|contract|contractul|care se termină în
    |se termină cu|se termină în|ultimele patru cifre|ultimele 4 cifre|telefon|tel|sunați|apelați|mobil|cameră|camera
    |loc|locul|zbor|zborul|tren|trenul|bilet|biletul|model|versiune|versiunea|cui|cif|tranzacție|tranzacția|cerere|dosar
    |număr|numărul|nr|strada|str|bulevardul|bd|sector|anul|din|sumă|suma|total|totalul|sold|soldul|puncte|poliță|colet
    |coletul|awb|rezervare|factură|factura|facturii|bon|card|cardul|plată de|plata de|transfer de|articolul|art|terminal
    |comerciant`,
  neutral: 'număr|numărul|numere|nr',
  meeting: 'întâlnire*|ședință|ședința|videoconferință*|conferință|conferința|apel video|webinar*',
  purpose: `verific*|confirm*|autentific*|conect*|acces*|autoriz*|unică folosință|activ*|expiră|valabil|valabilă|valid
    |nu împărtăș*|nu divulg*|nu distribui*|nu comunic*|introdu*|identit*|securit*|înregistr*|logare|logați|doi pași|resetare`,
  type: `introdu|introduceți|introduce|introduci|introducând|tastează|tastați|scrie|scrieți|copiază|copiați|lipește
    |folosește|folosiți|utilizați|utilizează|completați|introducerea|scriind|scrii|tastând|tastezi|folosind|foloseşte
    |utilizând|copiezi|completează|indică|indicați|pune|puneți`,
  is: 'este|e|sunt|este următorul|următorul|mai jos|următoarea',
  particle: `de|al|a|ale|pentru|tău|dvs|dumneavoastră|la|în|un|o|cu|și|acest|temporar|nou|contul|personal|vostru`,
  unit: `secund*|minut*|de minute|or*|de ore|zi|zile|de zile|săptămân*|lun*|an|ani|lei|ron|leu|euro|puncte|km|kg|ori
    |persoane|utilizatori|caractere|metri|clienți|locuri|bucăți|de lei`,
  verify: 'verific*|confirm*|activ*|validează|validați|finalizează înregistrarea|acceptă invitația',
  signIn: 'conect*|autentific*|intră în cont|intrați în cont|logare|link de conectare',
  reset: `reset*|parolă nouă|schimbă parola|schimbați parola|schimbare parolă|recuper*|ai uitat|ați uitat`,
  unsubscribe: `dezabon*|nu mai primi*|preferințe email|preferințele de e-mail|gestionează preferințele|renunță la`,
  here: `aici|click aici|apasă aici|apăsați aici|acest link|link|linkul|butonul|buton|continuă|deschide|vezi`,
}
