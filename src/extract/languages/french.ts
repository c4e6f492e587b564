import type { Language } from './language.ts'

export const french: Language = {
  code: `code|codes|pin|otp|mot de passe à usage unique|mot de passe temporaire
    |mot de passe provisoire|mot de passe unique|numéro de vérification|jeton|clé de sécurité
    |code secret|digicode|six chiffres|6 chiffres|quatre chiffres|4 chiffres|chiffres suivants
    |chiffres ci-après|chiffres ci-dessous|numéro suivant`,
  secret: 'mot de passe|clé',
  sale: `promo*|promotionnel*|avantage|réduction*|remise*|cadeau|carte cadeau|parrainage
    |bon d'achat|offre*|soldes|rabais`,
  other: `postal|commande|réservation|suivi|facture|barres|barre|conduite|pénal|civil
    |vestimentaire|erreur|qr|source|route|produit|article|client|pays|région|swift|travail
    |couleur|morse|génétique|ape|naf|guichet|dossier|insee|adhérent|agence|établissement|groupe
    |abonné|magasin|société|salarié|élève|événement|colis`,
  number: `référence|réf|compte|contrat|se terminant par|finissant par|terminant par
    |derniers chiffres|4 derniers chiffres|quatre derniers chiffres|téléphone|tél|appelez|appeler
    |fax|mobile|chambre|place|voiture|vol|train|billet|e-billet|modèle|isbn|version|siret|siren
    |rcs|tva|adhérent|transaction|demande|identifiant|numéro|n°|nº|no|rue|avenue|av|boulevard
    |boul|bd|étage|année|depuis|montant|total|solde|points|cedex|capital|opposition|abonné|TGV
    |TER|colis|bp|salle|quai|police|sinistre|immatriculation|carte|édition|service client`,
  purpose: `vérif*|confirm*|connexion|connecter|session|identifi*|authentif*|usage unique|activ*
    |expire*|valable|valide*|ne le partagez|ne communiquez|ne le communiquez|ne partagez|saisi*
    |entrez|identité|sécurité|accès|inscription`,
  type: `saisissez|saisir|saisis|entrez|entrer|tapez|taper|recopiez|recopier|reportez|reporter
    |copiez|copier|collez|indiquez|renseignez|utilisez|composez`,
  is: 'est|comme|est le|est le suivant|sont|suivant|ci-dessous|voici|ci-après',
  particle: `de|d|du|des|la|le|les|l|pour|votre|ton|à|au|un|une|sur|temporaire|unique|secret
    |personnel`,
  unit: `seconde*|minute*|min|heure*|h|jour*|semaine*|mois|ans|année*|euro*|eur|dollar*|points|km
    |kg|fois|personnes|utilisateurs|caractères|chiffres|places|mètres|rue|avenue|bis|ttc|ht`,
  verify: `vérif*|confirm*|activer*|activez|valider*|validez|activation|finaliser mon inscription
    |finaliser votre inscription|terminer mon inscription|accepter l'invitation`,
  signIn: `se connecter|me connecter|vous connecter|connectez-vous|connexion|identifiez-vous
    |s'identifier|accéder à mon compte|accéder à votre compte|lien magique|login`,
  reset: `réinitialis*|nouveau mot de passe|changer de mot de passe|changer mon mot de passe
    |changer votre mot de passe|changez votre mot de passe|modifier mon mot de passe
    |modifier votre mot de passe|modifiez votre mot de passe|changez de mot de passe
    |créer un mot de passe|choisir un mot de passe|mot de passe oublié|récupér*`,
  unsubscribe: `désabonn*|désinscri*|se désinscrire|vous désinscrire|me désinscrire
    |ne plus recevoir|gérer mes préférences|gérer vos préférences|préférences
    |gérer mes abonnements|désinscription|désabonnement`,
  here: `ici|cliquez ici|cliquer ici|ce lien|le lien|lien|bouton|ce bouton|continuer|commencer
    |ouvrir|voir|en cliquant ici|en suivant ce lien`,
}
