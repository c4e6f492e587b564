import type { PlainCatalogue } from './en.ts'

export const es: PlainCatalogue = {
  plain_title: 'Una dirección temporal',
  plain_lead: 'Obtenga una dirección, úsela donde quiera y lea su correo aquí. Sin JavaScript.',
  plain_get: 'Obtener una dirección',
  plain_lifetime: 'Caduca después de {life}; entonces se elimina su correo.',
  plain_cookie:
    'Una cookie guarda la dirección en este navegador hasta que caduque. Otros sitios no pueden verla.',
  plain_open: 'Abrir la dirección de este navegador',
  plain_slow: 'Está tardando más de lo habitual. También funciona sin JavaScript:',
  plain_any_domain: 'Cualquier dominio',
  plain_expires: 'Caduca {rest}: {time}.',
  plain_already: 'Ya tiene esta dirección. Elimínela para obtener otra.',
  plain_empty: 'Aún no hay mensajes. El correo nuevo aparece aquí.',
  plain_paused: 'La comprobación automática está desactivada.',
  plain_pause: 'Dejar de comprobar',
  plain_resume: 'Comprobar automáticamente',
  plain_deleted: 'Dirección y correo eliminados.',
  plain_back: 'Volver a la bandeja de entrada',
  plain_received: 'Recibido',
  plain_links: 'Enlaces',
  plain_more_links: 'Más enlaces',
  plain_unsubscribe: 'Darse de baja',
  plain_link: 'Enlace',
  plain_html: 'Este mensaje se envió como HTML. Se muestra su texto.',
  plain_attachment_warning:
    'Abra solo los archivos que espera. Los de desconocidos pueden ser dañinos.',
  plain_cookie_title: 'Su navegador no guardó la cookie',
  plain_cookie_text:
    'Sin ella, esta página no puede saber qué dirección es la suya. Permita las cookies de este sitio e inténtelo de nuevo.',
  plain_expired_text:
    'Su correo se ha eliminado. Puede obtener una dirección nueva en cualquier momento.',
  plain_none_title: 'No hay ninguna dirección en este navegador',
  plain_none_text: 'Obtenga una o recargue esta página si viene de otro sitio.',
  plain_missing_title: 'Mensaje no encontrado',
  plain_missing_text: 'Puede que se haya eliminado.',
  plain_rejected_title: 'Solicitud rechazada',
  plain_rejected_text:
    'La solicitud no venía de una página de este sitio. Use los botones de aquí.',
  plain_invalid_name: 'Este nombre no está permitido. Consulte las reglas más abajo.',
  plain_domain_gone: 'Este dominio ya no está disponible. Elija otro.',
  plain_invalid_title: 'Solicitud no válida',
  plain_invalid_text:
    'Hay algo incorrecto en la solicitud. Empiece de nuevo desde la bandeja de entrada.',
  plain_busy_text: 'Inténtelo de nuevo en un momento.',
  plain_error_title: 'Algo ha fallado en nuestro lado',
  plain_error_text: 'El error se ha registrado como {id}. Inténtelo de nuevo en un momento.',
  plain_buy_script:
    'La compra requiere JavaScript, porque su navegador debe guardar el secreto que da acceso a la clave. Sin JavaScript, use una terminal:',
  plain_order_script:
    'Esta página requiere JavaScript, porque el secreto de su pedido no sale de su navegador. Sin JavaScript, use una terminal:',
  plain_order_again:
    'Puede repetirlo en las 24 horas siguientes a la primera vez. Entonces se crea una clave nueva y la anterior se revoca de inmediato.',
  plain_key_script:
    'Esta página requiere JavaScript, porque su clave no sale de su navegador. Sin JavaScript, use una terminal:',
  plain_key_roll: 'Para renovar la clave (la anterior sigue funcionando 24 horas):',
}
