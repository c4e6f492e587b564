import type { PlainCatalogue } from './en.ts'

export const pt: PlainCatalogue = {
  plain_title: 'Um endereço temporário',
  plain_lead: 'Obtenha um endereço, use-o onde quiser e leia as mensagens aqui. Sem JavaScript.',
  plain_get: 'Obter um endereço',
  plain_lifetime: 'Ele expira após {life}, e então as mensagens são excluídas.',
  plain_cookie:
    'Um cookie guarda o endereço neste navegador até ele expirar. Outros sites não podem vê-lo.',
  plain_open: 'Abrir o endereço deste navegador',
  plain_slow: 'Está demorando mais do que o normal. Também funciona sem JavaScript:',
  plain_any_domain: 'Qualquer domínio',
  plain_expires: 'Expira {rest}: {time}.',
  plain_already: 'Você já tem este endereço. Exclua-o para obter outro.',
  plain_empty: 'Ainda não há mensagens. As novas aparecem aqui.',
  plain_paused: 'A verificação automática está desativada.',
  plain_pause: 'Parar de verificar',
  plain_resume: 'Verificar automaticamente',
  plain_deleted: 'Endereço e mensagens excluídos.',
  plain_back: 'Voltar à caixa de entrada',
  plain_received: 'Recebida',
  plain_links: 'Links',
  plain_more_links: 'Mais links',
  plain_unsubscribe: 'Cancelar inscrição',
  plain_link: 'Link',
  plain_html: 'Esta mensagem foi enviada como HTML. Mostrando o texto.',
  plain_attachment_warning:
    'Abra somente arquivos que você espera. Arquivos de desconhecidos podem ser nocivos.',
  plain_cookie_title: 'Seu navegador não guardou o cookie',
  plain_cookie_text:
    'Sem ele, esta página não sabe qual endereço é o seu. Permita cookies deste site e tente novamente.',
  plain_expired_text:
    'As mensagens foram excluídas. Você pode obter um novo endereço a qualquer momento.',
  plain_none_title: 'Nenhum endereço neste navegador',
  plain_none_text: 'Obtenha um, ou recarregue esta página se você veio de outro site.',
  plain_missing_title: 'Mensagem não encontrada',
  plain_missing_text: 'Ela pode ter sido excluída.',
  plain_rejected_title: 'Requisição recusada',
  plain_rejected_text: 'A requisição não veio de uma página deste site. Use os botões daqui.',
  plain_invalid_name: 'Este nome não é permitido. Veja as regras abaixo.',
  plain_domain_gone: 'Este domínio não está mais disponível. Escolha outro.',
  plain_invalid_title: 'Requisição inválida',
  plain_invalid_text: 'Há algo errado na requisição. Comece de novo pela caixa de entrada.',
  plain_busy_text: 'Tente novamente em instantes.',
  plain_error_title: 'Algo deu errado do nosso lado',
  plain_error_text: 'O erro foi registrado como {id}. Tente novamente em instantes.',
  plain_buy_script:
    'A compra exige JavaScript, porque seu navegador precisa guardar o segredo que dá acesso à chave. Sem JavaScript, use um terminal:',
  plain_order_script:
    'Esta página exige JavaScript, porque o segredo do seu pedido não sai do seu navegador. Sem JavaScript, use um terminal:',
  plain_order_again:
    'Você pode repetir isto nas 24 horas seguintes à primeira vez. Uma nova chave é criada e a antiga é revogada imediatamente.',
  plain_key_script:
    'Esta página exige JavaScript, porque sua chave não sai do seu navegador. Sem JavaScript, use um terminal:',
  plain_key_roll: 'Para renovar a chave (a antiga continua funcionando por 24 horas):',
}
