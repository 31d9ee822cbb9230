import type { Readable } from 'node:stream'
import { type Secret, StartupError } from '@warder/base'
import { openUserTerminal, type Prompter, printable, readAll } from '@warder/command-line'
import type { RootKeyLaunch } from '@warder/runtime/launch'
import { describeSet, findShareTexts, ShareCollection, type ShareSet } from '@warder/storage'

const maxInputBytes = 65_536

/**
 * Reads one share: asked for without an echo, or the only one on standard input. The text may contain the share and its
 * explanation on separate lines.
 * @throws StartupError
 */
export async function readShare(prompter: Prompter, input: Readable): Promise<string> {
  const text = prompter.interactive
    ? await prompter.askSecret('Share (it is not shown): ')
    : await readInput(input)
  const found = findShareTexts(text)
  const [share] = found
  if (share === undefined || found.length > 1)
    throw new StartupError(
      found.length > 1
        ? `standard input contains ${found.length} shares: each holder enters one`
        : 'there is no share: enter the line that begins with warder-share-1. (a file *.age is decrypted first: age --decrypt --identity key.txt FILE)',
    )
  return share
}

async function readInput(input: Readable): Promise<string> {
  return (await readAll(input, maxInputBytes, new AbortController().signal)).toString('utf8')
}

/** Secrets of sets that this process has opened, so that it asks the holders once for all databases. */
const opened = new Map<string, { readonly secret: Secret; readonly holders: readonly string[] }>()
/** Shares of these holders, for services that this process starts. */
const entered: string[] = []
let piped: Promise<readonly string[]> | undefined

/**
 * Asks the holders, one after the other at this terminal, for their shares; without a terminal the shares are read from
 * standard input, one a line.
 * @throws StartupError when there are too few
 */
export const askShares: NonNullable<RootKeyLaunch['collectShares']> = async (find, service) => {
  const shared = await find()
  const { set } = shared
  const known = opened.get(set.id)
  if (known !== undefined) return shared.open(known.secret)
  const { prompter, input } = openUserTerminal()
  const collection = new ShareCollection(set)
  try {
    if (prompter.interactive) await askHolders(collection, service, prompter)
    else {
      piped ??= readInput(input).then(findShareTexts)
      addAll(collection, await piped)
    }
    if (!collection.isComplete) throw new StartupError(describeMissing(collection, service))
    const secret = await collection.combine()
    opened.set(set.id, { secret, holders: collection.holders })
    return await shared.open(secret)
  } finally {
    collection.wipe()
  }
}

/** Names of the holders who opened a set at this process. */
export function listOpeners({ id }: Pick<ShareSet, 'id'>): readonly string[] {
  return opened.get(id)?.holders ?? []
}

/** The shares that holders have entered at this process. */
export function listEnteredShares(): readonly string[] {
  return entered
}

async function askHolders(collection: ShareCollection, service: string, prompter: Prompter): Promise<void> {
  const { set } = collection
  const say = (line: string): void => void process.stderr.write(`${printable(line)}\n`)
  say(
    `The root key of the ${service} database is in shares of set ${describeSet(set)}: ${set.threshold} of ${listHolders(set)}`,
  )
  // Each holder may mistype.
  for (let attempt = 0; attempt < 5 * set.threshold && !collection.isComplete; attempt += 1) {
    const text = await prompter.askSecret(
      `Share ${collection.entered + 1} of ${set.threshold} (it is not shown; an empty line stops): `,
    )
    if (text.trim() === '') break
    const [share = text.trim()] = findShareTexts(text)
    const outcome = collection.add(share)
    if (outcome.accepted) entered.push(share)
    say(outcome.accepted ? `share of ${set.holders[outcome.number - 1]?.name} accepted` : outcome.message)
  }
}

/** @throws StartupError for a share of this set that is not one of its shares */
function addAll(collection: ShareCollection, shares: readonly string[]): void {
  for (const share of shares) {
    if (collection.isComplete) return
    const outcome = collection.add(share)
    if (outcome.accepted) entered.push(share)
    // Shares of another set may be for another database.
    if (!outcome.accepted && outcome.problem !== 'other_set') throw new StartupError(outcome.message)
  }
}

function describeMissing({ set, entered }: ShareCollection, service: string): string {
  return `the root key of the ${service} database is in shares of set ${describeSet(set)}, and ${entered} of the ${set.threshold} that are needed were entered: run the command on a terminal with the holders (${listHolders(set)}), or pipe the lines of their shares into it`
}

function listHolders(set: ShareSet): string {
  return set.holders.map(({ name }) => name).join(', ')
}
