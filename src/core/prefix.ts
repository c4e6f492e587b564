import { Problem } from './problem.ts'

const PREFIX = /^[a-z0-9]+(?:[._-][a-z0-9]+)*$/

/** The local part a user asks for: lower-cased, validated and not reserved. */
export function parsePrefix(text: string): string {
  // As with addresses: some letters outside ASCII lower-case to ASCII ones.
  const prefix = /^[\x20-\x7e]+$/.test(text) ? text.toLowerCase() : ''
  if (prefix.length > 64 || !PREFIX.test(prefix)) {
    throw new Problem(
      'invalid_prefix',
      'prefix: use 1 to 64 of a-z and 0-9, with single dots, hyphens or underscores inside.',
    )
  }
  if (isReservedLocalPart(prefix)) {
    throw new Problem('reserved_prefix', `prefix: "${prefix}" is reserved. Choose another.`)
  }
  return prefix
}

/** True for names that represent the domain itself: certificate authorities and people trust mail to and from them. */
export function isReservedLocalPart(local: string): boolean {
  return RESERVED.has(local.replace(/[._+-]/g, ''))
}

/** True for the two names whose mail is stored for the operator. */
export function isOperatorLocalPart(local: string): boolean {
  return local === 'postmaster' || local === 'abuse'
}

// Compared without separators: ssl-admin, ssl.admin and ssladmin are the same name.
// RFC 2142 names, the addresses certificate authorities accept, and names that programs send from.
const RESERVED = new Set(
  `abuse accounts admin administrator admins anonymous billing bounce bounces cert certadmin certificate certificates
  certmaster contact daemon devnull dmarc dns donotreply ftp ftpadmin help helpdesk hostmaster info is it itadmin
  legal listserv localhost mail mailerdaemon maildaemon mailer mailmaster majordomo marketing me mis news newsmaster noc
  nobody noreply notification notifications null operator owner password payments pki popmaster postmaster privacy
  register registrar registration root sales security smtp smtpadmin spam ssl ssladmin ssladministrator sslwebmaster
  status support sysadmin sysmaster system team trouble unsubscribe usenet user users usermaster uucp verify webadmin
  webmaster whois www wwwadmin`.split(/\s+/),
)

/** Two words and eight digits: 42 random bits that can be read out over the phone. */
export function randomLocalPart(randomBytes: (count: number) => Uint8Array): string {
  const [first = 0, second = 0, ...rest] = randomBytes(7)
  // 40 bits modulo 10^8: the bias is negligible.
  const number = Buffer.from(rest).readUIntBE(0, 5) % 100_000_000
  return `${ADJECTIVES[first]}.${NOUNS[second]}${String(number).padStart(8, '0')}`
}

// 256 of each, so that one random byte selects one uniformly. Harmless in every combination.
const ADJECTIVES =
  `able agile airy alert alive alpine amber ample apt arctic ashen aware azure balmy basic bold bonny brave
  breezy brief bright brisk broad bronze bubbly busy calm candid careful casual cheery chilly chosen civil classic clean
  clear clever cloudy coastal cobalt cool copper coral cosmic cosy crafty creamy crisp cubic curious curly cyan dainty
  dapper daring dawn deep deft dewy direct distant dotted downy dreamy dry dusky eager early earnest earthy east easy
  elder elegant even exact fabled fair famous fancy far fast fawn feathery festive few fine firm first fleet floral flowing
  fluent fluffy foggy fond frank free fresh frosty full gentle gifted gilded glad gleaming glossy golden good graceful
  grand grassy great green happy hardy hazel hearty helpful high hilly honest humble hushed icy idle indigo inland
  ivory jade jaunty jolly jovial joyful jubilant just keen kind large lasting late leafy level light likely lilac lime
  little lively local lofty long loyal lucid lucky lunar magic major mellow merry mighty mild minor mint misty modern
  modest mossy musical mystic narrow native navy near neat new nimble noble north novel oaken ocean olive open orange
  orderly outer oval pale patient peaceful pearly placid plain playful pleasant plucky plush polar polite prime proper
  proud pure purple quaint quick quiet rapid rare ready red regal rosy round royal ruby rural russet rustic safe sandy
  scenic serene shady sharp shiny silent silver simple sleek smooth snowy social soft solar solid sonic south spare
  spry starry steady stellar still sturdy sunlit sunny supple sweet swift tall tender tidy warm`.split(
    /\s+/,
  )

const NOUNS =
  `acorn alder almond anchor apple apricot arch aspen atlas atoll aurora autumn badge bakery bamboo banjo barley
  basin basket bay beach beacon beech bell berry birch bloom boat book bough boulder breeze bridge brook broom button
  cabin cactus camera canal candle canoe canyon castle cedar cello chalk chapter cherry chestnut chime cinema citrus
  clarinet clay cliff cloud clover cluster coast cobble comet compass cottage cove crane creek cricket crystal curtain
  cypress daisy dale delta desert dew dolphin door dove drum dune easel echo elm ember estuary falcon feather fern
  ferry fiddle field finch fir fjord flame flute forest fossil fountain fox galaxy garden garnet gate geyser ginger
  glacier glade glen globe grain granite grape grove gull guitar hamlet harbor harp harvest hazelnut heath hedge heron
  hill honey horizon island ivy jasmine jetty jigsaw juniper kayak kettle key kite lagoon lake lamp lantern larch lark
  laurel lemon lens letter lighthouse lily linden linen lotus lute magnolia mango map maple marble marsh meadow melody
  melon meteor mill mirror moon moor moss mountain nectar nest nutmeg oak oasis oat olivine onyx opal orbit orchard
  orchid otter owl paddle palette palm panda paper path peach peak pear pebble pencil penguin peony pepper petal piano
  pier pillow pine planet plaza plum pond poplar poppy prairie prism puffin quartz quill rain raven reed reef ribbon
  ridge river robin rocket rose rowan saddle saffron sail sapling satchel shell shore sky slope sparrow spring
  spruce star stream summit sunrise swan tangerine teapot thicket thistle tide timber trail tulip valley velvet vine
  violin walnut willow`.split(/\s+/)
