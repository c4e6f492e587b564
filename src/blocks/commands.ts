import { createReadStream } from 'node:fs'
import { text as readText } from 'node:stream/consumers'
import type { Command } from 'commander'
import { machineAddresses } from '../base/network.ts'
import { Problem } from '../base/problem.ts'
import { printable } from '../base/text.ts'
import type { CommandContext } from '../cli/context.ts'
import {
  CommandError,
  formatCount,
  formatMinute,
  type JsonOption,
  type Print,
  parseCount,
  plural,
  printJson,
  table,
} from '../cli/output.ts'
import { openProgress, type Progress } from '../cli/progress.ts'
import {
  addBlock,
  type BlockDeps,
  type BlockOptions,
  blockJson,
  type InstallationSettings,
  importBlocks,
  installationEntries,
  listBlocks,
  ownEntries,
  parseBlockLines,
  removeBlock,
  removeBlocks,
} from './blocks.ts'
import { DANGER_CODES, type OwnEntries } from './rules.ts'

interface AddOptions {
  note?: string
  for?: string
  force?: boolean
}

const FORCE =
  'allow ranges wider than /8 (IPv6: /16), top-level domains, private addresses, and entries of this installation'

type BlockContext = CommandContext<InstallationSettings, BlockDeps['store']>

export function addBlockCommands(block: Command, context: BlockContext, print: Print): void {
  const withBlocks = (operation: (deps: BlockDeps) => Promise<void>) =>
    context.withMail((store) =>
      operation({
        ...context,
        store,
        own: installationEntries(context.config(), machineAddresses()),
      }),
    )
  block
    .command('add <entry...>')
    .description(
      'Refuse mail from a domain and its subdomains, an address, an IP address or a range',
    )
    .option('--note <text>', 'why, for your own use')
    .option('--for <duration>', 'end of the block, such as 12h or 30d; default: none')
    .option('--force', FORCE)
    .action((entries: string[], options: AddOptions) =>
      withBlocks((deps) => addEntries(deps, entries, options, print)),
    )
  block
    .command('list [text]')
    .description('List blocks whose entry contains the text, last changed first')
    .option('--limit <n>', 'maximum number of blocks', parseCount, 50)
    .option('--before <number>', 'continue after the block with this number', parseCount)
    .option('--json', 'print JSON')
    .action((text: string | undefined, options: ListOptions) =>
      withBlocks((deps) => printBlocks(deps, { ...options, text }, print)),
    )
  block
    .command('remove <entry...>')
    .description('Remove blocks')
    .action((entries: string[]) => withBlocks((deps) => removeEntries(deps, entries, print)))
  block
    .command('import <file>')
    .description(
      'Add the entries of a file (- for standard input), one per line; # or ; starts a comment',
    )
    .option('--note <text>', 'why, for your own use')
    .option('--for <duration>', 'end of the blocks, such as 12h or 30d; default: none')
    .option('--force', FORCE)
    .option('--remove', 'remove these entries instead')
    .action((file: string, options: AddOptions & { remove?: boolean }) =>
      withBlocks((deps) =>
        importFile(
          deps,
          { ...options, input: openInput(file), progress: openProgress(process.stderr) },
          print,
        ),
      ),
    )
}

/** Standard input: in a container, and with the Debian package, the command cannot open files of its caller. */
function openInput(file: string): NodeJS.ReadableStream {
  return file === '-' ? process.stdin : createReadStream(file)
}

const blockOptions = ({ note, for: ttl, force }: AddOptions): BlockOptions => ({ note, ttl, force })

const WHEN = 'Takes effect within a second.'

export async function addEntries(
  deps: BlockDeps,
  texts: readonly string[],
  options: AddOptions,
  print: Print,
): Promise<void> {
  for (const text of texts) {
    const { entry, kind, isNew } = await addBlock(deps, text, blockOptions(options)).catch(refuse)
    const what = kind === 'domain' ? `${entry} and its subdomains` : entry
    print(isNew ? `Blocked ${what}.` : `Changed the block of ${what}.`)
  }
  print(WHEN)
}

export async function removeEntries(
  deps: BlockDeps,
  texts: readonly string[],
  print: Print,
): Promise<void> {
  for (const text of texts) {
    if (!(await removeBlock(deps, text).catch(refuse)))
      throw new CommandError(
        `${printable(text)} is not blocked by an entry of its own. See: mayfly block list`,
      )
    print(`Removed the block of ${printable(text)}.`)
  }
  print(WHEN)
}

function refuse(error: unknown): never {
  const codes: readonly string[] = ['invalid_parameter', ...DANGER_CODES]
  if (!(error instanceof Problem) || !codes.includes(error.code)) throw error
  throw new CommandError(withOptionName(error.message), 2)
}

interface ListOptions extends JsonOption {
  text?: string | undefined
  limit: number
  before?: number
}

export async function printBlocks(
  deps: BlockDeps,
  { json, ...query }: ListOptions,
  print: Print,
): Promise<void> {
  const { blocks, total, next } = await listBlocks(deps, query)
  if (json) return printJson(blocks.map(blockJson), print)
  if (blocks.length === 0) return print(total === 0 ? 'No blocks.' : 'No such blocks.')
  const rows = blocks.map(({ entry, kind, createdAt, expiresAt, note }) => [
    entry,
    kind,
    formatMinute(createdAt),
    expiresAt ? formatMinute(expiresAt) : 'never',
    note,
  ])
  const heading = ['ENTRY', 'KIND', 'ADDED (UTC)', 'ENDS (UTC)', 'NOTE']
  for (const line of table([heading, ...rows])) print(line)
  if (next !== undefined) {
    print(`${formatCount(blocks.length)} of ${plural(total, 'block')}. Next page: --before ${next}`)
  }
}

const SHOWN_ERRORS = 10

interface ImportOptions extends AddOptions {
  input: NodeJS.ReadableStream
  remove?: boolean
  progress: { tell(progress: Progress): void; end(): void }
}

export async function importFile(
  deps: BlockDeps,
  { input, remove = false, progress, ...options }: ImportOptions,
  print: Print,
): Promise<void> {
  // First: an error of the file must not go unhandled meanwhile.
  const list = await readText(input)
  const own = await ownEntries(deps)
  const entries = parseEntries(list, { force: remove || options.force === true, own })
  const all = { rows: entries.length, bytes: 0 }
  const doing = remove ? 'removing' : 'importing'
  const report = (rows: number) => progress.tell({ doing, rows, bytes: 0, all })
  const { force: _, ...rest } = blockOptions(options)
  const changing = remove
    ? removeBlocks(deps, entries, report)
    : importBlocks(deps, entries, { ...rest, report })
  const changed = await changing.finally(progress.end).catch(refuse)
  const others = formatCount(entries.length - changed)
  if (remove) print(`Removed ${plural(changed, 'block')}; ${others} were not on the list. ${WHEN}`)
  else print(`Added ${plural(changed, 'block')}, changed ${others}. ${WHEN}`)
}

/** Nothing is changed if one line is invalid. */
function parseEntries(list: string, options: { force: boolean; own: OwnEntries }) {
  const { entries, invalid } = parseBlockLines(list, options)
  if (invalid.length === 0) return entries
  const more = invalid.length - SHOWN_ERRORS
  const lines = [
    ...invalid.slice(0, SHOWN_ERRORS).map(withOptionName),
    ...(more > 0 ? [`… and ${plural(more, 'more invalid line')}`] : []),
    'Nothing was changed.',
  ]
  throw new CommandError(lines.join('\n'))
}

function withOptionName(message: string): string {
  return message.replace(' with force', ' with --force').replace(/^ttl:/, '--for:')
}
