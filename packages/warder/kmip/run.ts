import { resolve } from 'node:path'
import { StartupError } from '@warder/foundation/errors'
import { type KmipVersion, kmipVersions } from '@warder/kmip/tables'
import { KmipDecodeError, type TtlvNode } from '@warder/kmip/ttlv'
import { homeOf, type Terminal, UsageError } from '../cli/command.ts'
import { Words } from '../cli/words.ts'
import { makeCertificate } from './certificate.ts'
import { openConnection } from './connection.ts'
import { explain } from './explain.ts'
import { hasSucceeded, messageOf, readInput } from './input.ts'
import { type Place, readPlace } from './places.ts'
import { type Form, formOf, forms, linesOf } from './print.ts'
import { queryEverything, queryLines } from './query.ts'

const verbs = 'send, explain, query, certificate'
const usualDays = 397

/** `warder kmip VERB …`. @returns the exit code */
export async function runKmip(args: readonly string[], terminal: Terminal): Promise<number> {
  const [verb, ...rest] = args
  switch (verb) {
    case 'send':
      return send(new Words(rest), terminal)
    case 'explain':
      return explainInput(new Words(rest), terminal)
    case 'query':
      return query(new Words(rest), terminal)
    case 'certificate':
      return certificate(new Words(rest), terminal)
    default:
      throw new UsageError(
        verb === undefined ? `say what to do: ${verbs}` : `there is no '${verb}'; these are: ${verbs}`,
      )
  }
}

async function send(words: Words, terminal: Terminal): Promise<number> {
  const place = readPlace(words, terminal.env)
  const form = formIn(words)
  const version = versionIn(words)
  const showSecrets = words.flag('show-secrets')
  const input = readInput(words.name('file'), { hex: false })
  const message = messageOf(input, version)
  const answer = await exchange(place(), message)
  for (const line of linesOf(answer, form ?? formOf(input.encoding), showSecrets)) terminal.out(line)
  return hasSucceeded(answer) ? 0 : 1
}

async function query(words: Words, terminal: Terminal): Promise<number> {
  const place = readPlace(words, terminal.env)
  const form = formIn(words)
  words.end()
  const answer = await exchange(place(), queryEverything())
  const lines = form === undefined ? queryLines(answer) : linesOf(answer, form, false)
  for (const line of lines) terminal.out(line)
  return hasSucceeded(answer) ? 0 : 1
}

async function certificate(words: Words, terminal: Terminal): Promise<number> {
  const home = resolve(homeOf(words.option('home'), terminal.env))
  const out = words.option('out')
  const rsa = words.flag('rsa')
  const days = words.number('days') ?? usualDays
  if (days === 0) throw new UsageError('--days is at least 1')
  const name = words.name('user')
  if (out === undefined && !/^[\w.@-]+$/.test(name))
    throw new UsageError('the name does not do for a file: say --out PATH')
  const { cert, key, validTo } = await makeCertificate({
    name,
    home,
    out: out ?? name,
    days,
    rsa,
    now: Date.now(),
  })
  terminal.out(`${cert} and ${key}: ${name}, until ${validTo.toISOString().slice(0, 10)}`)
  return 0
}

function explainInput(words: Words, terminal: Terminal): number {
  const showSecrets = words.flag('show-secrets')
  const input = readInput(words.name('hex dump or file'), { hex: true })
  if (input.encoding !== 'ttlv') {
    for (const line of linesOf(messageOf(input, '2.1'), 'text', showSecrets)) terminal.out(line)
    return 0
  }
  const { lines, problems } = explain(input.bytes, { showSecrets })
  for (const line of lines) terminal.out(line)
  for (const problem of problems) terminal.err(problem)
  return problems.length === 0 ? 0 : 1
}

async function exchange({ endpoint, way }: Place, message: TtlvNode): Promise<TtlvNode> {
  const connection = openConnection(endpoint, way)
  try {
    return await connection.exchange(message)
  } catch (error) {
    if (error instanceof KmipDecodeError)
      throw new StartupError(`the answer cannot be read: ${error.message}`, { cause: error })
    throw new StartupError(`the server: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    })
  } finally {
    connection.close()
  }
}

function formIn(words: Words): Form | undefined {
  const word = words.option('as')
  const form = forms.find((name) => name === word)
  if (word !== undefined && form === undefined)
    throw new UsageError(`--as is ${forms.join(', ')}, not '${word}'`)
  return form
}

function versionIn(words: Words): KmipVersion {
  const word = words.option('kmip-version') ?? '2.1'
  const version = kmipVersions.find((name) => name === word)
  if (version === undefined)
    throw new UsageError(`--kmip-version is one of ${kmipVersions.join(', ')}, not '${word}'`)
  return version
}
