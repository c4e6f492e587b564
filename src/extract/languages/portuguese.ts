import type { Language } from './language.ts'

export const portuguese: Language = {
  code: `código|códigos|pin|otp|token|senha de uso único|senha temporária|senha descartável
    |senha provisória|palavra-passe temporária|palavra-passe de utilização única
    |número de verificação|chave de segurança|chave de acesso|seis dígitos|6 dígitos
    |quatro dígitos|4 dígitos|dígitos abaixo|números abaixo|números a seguir|dígitos a seguir`,
  secret: 'senha|palavra-passe|chave',
  sale: `desconto*|promocional*|promo*|cupom|cupons|cupão|presente|vale-presente|oferta*|resgate
    |resgatar|indicação`,
  other: `postal|pedido|encomenda|reserva|rastreio|rastreamento|envio|fatura|barras|conduta|penal
    |civil|erro|qr|fonte|vestimenta|área|país|produto|artigo|cliente|localizador|swift|tributário
    |ética|cor|morse|genético|boleto|compra|associado|funcionário|loja|agência|assinante|sócio
    |aluno|evento|entidade|revendedor|instalação`,
  number: `referência|ref|conta|contrato|final|terminado em|terminada em|últimos dígitos
    |últimos 4 dígitos|últimos quatro dígitos|telefone|tel|ligue|ligar|ramal|celular|telemóvel
    |quarto|assento|voo|bilhete|ingresso|modelo|isbn|versão|cpf|cnpj|nif|rg|sócio|transação
    |solicitação|protocolo|matrícula|processo|número|núm|nº|n.º|n°|rua|avenida|av|andar|ano|desde
    |placa|total|valor|saldo|pontos|agência|linha digitável|apólice|central|cep|cartão|sala
    |edição`,
  purpose: `verific*|confirm*|iniciar sessão|entrar|acesso|acessar|aceder|autentic*|autoriz*
    |uso único|ativ*|expira|caduca|válido|vale por|não compartilhe|não partilhe|não informe
    |digite|digita|introduz*|inform*|insira|identidade|segurança|validar|validação|cadastro|login`,
  type: `digite|digita*|digitar|introduza*|introduzir|insira*|inserir|informe|informar|escreva
    |copie|cole|use|usa|utilize|preencha`,
  is: 'é|como|é o|é o seguinte|são|seguinte|abaixo|a seguir',
  particle: 'de|do|da|o|a|para|seu|sua|no|na|em|um|uma|que|temporário|único',
  unit: `segundo*|minuto*|min|hora*|h|dia|dias|semana*|mês|meses|ano|anos|reais|real|euro*|pontos
    |km|kg|vezes|pessoas|usuários|utilizadores|caracteres|dígitos|metros|caminhantes|clientes`,
  verify: `verific*|confirm*|ativar*|ative sua|ative a sua|ative seu|ativação|validar*|valide seu
    |valide o seu|concluir cadastro|concluir registo|completar cadastro|aceitar convite`,
  signIn: `entrar|iniciar sessão|inicie sessão|fazer login|faça login|acessar conta
    |acessar minha conta|acessar sua conta|acesse sua conta|aceder à conta|login|link mágico
    |link de acesso`,
  reset: `redefin*|redefina|repor senha|repor a senha|repor palavra-passe|repor a palavra-passe
    |alterar senha|alterar a senha|alterar sua senha|altere sua senha|trocar senha|trocar a senha
    |troque sua senha|troque a senha|nova senha|nova palavra-passe|alterar a palavra-passe
    |altere a palavra-passe|criar senha|crie uma nova senha|recuper*|esqueci*|esqueceu*
    |mudar senha`,
  unsubscribe: `descadastr*|cancelar inscrição|cancelar a inscrição|cancelar subscrição
    |cancelar a subscrição|cancele sua inscrição|sair da lista|remover meu e-mail
    |deixar de receber|não quer mais receber|não deseja mais receber|não deseja receber
    |preferências de e-mail|gerenciar preferências|anular subscrição`,
  here: `aqui|clique aqui|clica aqui|este link|link|o link|botão|este botão|continuar|começar
    |abrir|ver`,
}
