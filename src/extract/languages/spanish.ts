import type { Language } from './language.ts'

export const spanish: Language = {
  code: `código|códigos|clave|claves|pin|otp|token|contraseña de un solo uso|contraseña temporal
    |número de verificación|número de seguridad|clave dinámica|código pin|seis dígitos|6 dígitos
    |6 cifras|seis cifras|cuatro dígitos|4 dígitos|4 cifras|siguientes dígitos|siguientes números
    |números siguientes`,
  secret: 'contraseña',
  sale: `descuento*|promocional*|promo*|cupón|cupones|regalo|tarjeta regalo|rebaja*|oferta*
    |de dto|canjear|canjea|referido*`,
  other: `postal|pedido|reserva|seguimiento|rastreo|envío|factura|barras|conducta|penal|civil
    |error|qr|fuente|vestimenta|área|país|producto|artículo|cliente|localizador|swift|tributario
    |ético|ética|color|morse|genético|operación|compra|afiliado|afiliada|empleado|tienda|sucursal
    |suscriptor|socio|alumno|evento|entidad|organismo|abonado|agente|vendedor`,
  number: `referencia|ref|cuenta|contrato|terminada en|termina en|terminado en|terminación
    |acabada en|últimos dígitos|últimos 4 dígitos|últimos cuatro dígitos|teléfono|tel|llama|llame
    |llamando|llamar|móvil|habitación|asiento|vuelo|boleto|billete|entrada|modelo|isbn|versión
    |cif|nif|dni|ruc|rut|cuit|socio|transacción|solicitud|expediente|caso|número|núm|n.º|nº|n°
    |calle|avenida|av|piso|año|desde|historia|trámite|folio|importe|total|saldo|puntos|grupo
    |sucursal|paquete|guía|cups|afiliado|póliza|matrícula|cédula|tarjeta|apartado|terminal|aula
    |tomo|edición`,
  purpose: `verific*|confirm*|iniciar sesión|inicia sesión|inicio de sesión|acceso|acceder
    |ingres*|autentic*|autoriz*|un solo uso|activ*|caduca|vence|expira|válido|no lo compart*
    |no compart*|introduc*|introdúc*|escrib*|solicit*|identidad|seguridad|registro`,
  type: `introduce*|introduzca*|introdúzca*|introdúce*|ingresa*|ingrese|ingresá|escribe*|escriba*
    |escribí|digita*|digite|teclea*|teclee|marca|marque|marcá|copia|copie|pega|usa|use|usá
    |utiliza|utilice|indica`,
  is: 'es|como|es el|es el siguiente|son|siguiente|a continuación|es la siguiente',
  particle: 'de|del|la|el|para|tu|su|en|un|una|a|al|que|temporal|único|nuevo',
  unit: `segundo*|minuto*|min|hora*|h|día*|semana*|mes|meses|año*|euro*|eur|dólar*|peso*|usd|mxn
    |puntos|km|kg|veces|personas|usuarios|caracteres|dígitos|metros|socios|clientes|plazas`,
  verify: `verific*|confirm*|activar*|activa tu|activa su|validar*|valida tu|valida su
    |completa tu registro|completar registro|completar el registro|activación|aceptar invitación
    |aceptar la invitación`,
  signIn: `iniciar sesión|inicia sesión|inicie sesión|inicio de sesión|entrar|acceder a mi cuenta
    |acceder a tu cuenta|acceder a su cuenta|accede a tu cuenta|ingresar|ingresa a tu cuenta
    |enlace mágico|enlace de acceso|login`,
  reset: `restablec*|restablezca|cambiar contraseña|cambiar la contraseña|cambia tu contraseña
    |cambie su contraseña|cambiar tu contraseña|cambiar mi contraseña|nueva contraseña
    |crear contraseña|crea una contraseña|recuperar*|recupera tu|olvid*`,
  unsubscribe: `darse de baja|darte de baja|date de baja|dése de baja|darme de baja|dar de baja
    |baja|cancelar suscripción|cancelar la suscripción|cancelar tu suscripción|anular suscripción
    |anular la suscripción|desuscri*|desuscrib*|preferencias de correo|gestionar preferencias
    |dejar de recibir|no deseas recibir|no quieres recibir|preferencias de email`,
  here: `aquí|haz clic aquí|haga clic aquí|clic aquí|pulsa aquí|este enlace|el enlace|enlace
    |botón|este botón|continuar|empezar|ver|abrir`,
}
