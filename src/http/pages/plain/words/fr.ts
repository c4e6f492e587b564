import type { PlainCatalogue } from './en.ts'

export const fr: PlainCatalogue = {
  plain_title: 'Une adresse temporaire',
  plain_lead:
    'Obtenez une adresse, utilisez-la partout et lisez son courrier ici. Sans JavaScript.',
  plain_get: 'Obtenir une adresse',
  plain_lifetime: 'Elle expire après {life}, puis son courrier est supprimé.',
  plain_cookie:
    'Un cookie conserve l’adresse dans ce navigateur jusqu’à son expiration. Les autres sites ne peuvent pas le voir.',
  plain_open: 'Ouvrir l’adresse de ce navigateur',
  plain_slow: 'C’est plus long que d’habitude. Cela fonctionne aussi sans JavaScript :',
  plain_any_domain: 'N’importe quel domaine',
  plain_expires: 'Expire {rest} : {time}.',
  plain_already: 'Vous avez déjà cette adresse. Supprimez-la pour en obtenir une autre.',
  plain_empty: 'Aucun message pour le moment. Les nouveaux s’affichent ici.',
  plain_paused: 'La vérification automatique est désactivée.',
  plain_pause: 'Arrêter la vérification',
  plain_resume: 'Vérifier automatiquement',
  plain_deleted: 'Adresse et courrier supprimés.',
  plain_back: 'Retour à la boîte de réception',
  plain_received: 'Reçu',
  plain_links: 'Liens',
  plain_more_links: 'Autres liens',
  plain_unsubscribe: 'Se désabonner',
  plain_link: 'Lien',
  plain_html: 'Ce message a été envoyé en HTML. Voici son texte.',
  plain_attachment_warning:
    'N’ouvrez que les fichiers que vous attendez. Ceux d’inconnus peuvent être dangereux.',
  plain_cookie_title: 'Votre navigateur n’a pas enregistré le cookie',
  plain_cookie_text:
    'Sans lui, cette page ne peut pas savoir quelle adresse est la vôtre. Autorisez les cookies pour ce site, puis réessayez.',
  plain_expired_text:
    'Son courrier a été supprimé. Vous pouvez obtenir une nouvelle adresse à tout moment.',
  plain_none_title: 'Aucune adresse dans ce navigateur',
  plain_none_text: 'Obtenez-en une, ou rechargez cette page si vous venez d’un autre site.',
  plain_missing_title: 'Message introuvable',
  plain_missing_text: 'Il a peut-être été supprimé.',
  plain_rejected_title: 'Requête refusée',
  plain_rejected_text:
    'La requête ne venait pas d’une page de ce site. Utilisez les boutons d’ici.',
  plain_invalid_name: 'Ce nom n’est pas autorisé. Voir les règles ci-dessous.',
  plain_domain_gone: 'Ce domaine n’est plus disponible. Choisissez-en un autre.',
  plain_invalid_title: 'Requête non valide',
  plain_invalid_text:
    'Quelque chose est incorrect dans la requête. Recommencez depuis la boîte de réception.',
  plain_busy_text: 'Réessayez dans un instant.',
  plain_error_title: 'Une erreur s’est produite de notre côté',
  plain_error_text: 'L’erreur a été enregistrée sous {id}. Réessayez dans un instant.',
  plain_buy_script:
    'L’achat nécessite JavaScript, car votre navigateur doit conserver le secret qui donne accès à la clé. Sans JavaScript, utilisez un terminal :',
  plain_order_script:
    'Cette page nécessite JavaScript, car le secret de votre commande ne quitte pas votre navigateur. Sans JavaScript, utilisez un terminal :',
  plain_order_again:
    'Vous pouvez recommencer dans les 24 heures suivant la première fois. Une nouvelle clé est alors créée et l’ancienne immédiatement révoquée.',
  plain_key_script:
    'Cette page nécessite JavaScript, car votre clé ne quitte pas votre navigateur. Sans JavaScript, utilisez un terminal :',
  plain_key_roll: 'Pour renouveler la clé (l’ancienne fonctionne encore 24 heures) :',
}
