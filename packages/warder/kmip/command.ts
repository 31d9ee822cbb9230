import { Buffer } from 'node:buffer'
import { resolve } from 'node:path'
import { StartupError } from '@warder/base'
import { homeVerb, requireNoNames, requireOneName, UsageError } from '@warder/command-line'
import { kmsCommand } from '@warder/command-line/kms'
import {
  type Encoding,
  encodeNode,
  KmipDecodeError,
  type KmipVersion,
  kmipVersions,
  type TtlvNode,
} from '@warder/kmip-codec'
import { makeCertificate } from './certificate.ts'
import { listCertificatesVerb } from './certificates.ts'
import { openConnection } from './connection.ts'
import { devicesVerb } from './devices.ts'
import { explain } from './explain.ts'
import { decodeMessage, hasSucceeded, readInput } from './input.ts'
import { buildFullQuery, formatQueryAnswer } from './query.ts'
import { clientReasons, revokeCertificates } from './revoke-certificate.ts'
import { type KmipTarget, readTarget, targetOptions } from './target.ts'

const defaultDays = 397

const as = {
  type: 'text',
  value: 'FORM',
  help: 'output: text, json, xml or hex (default: that of the request; text for binary)',
} as const
const showSecrets = {
  type: 'flag',
  help: 'also prints key material and passwords, which the text output omits',
} as const

const send = homeVerb({
  name: 'send',
  words: 'FILE|-',
  usage: '[OPTIONS]',
  summary: 'Send one message and print the response',
  about: `The file contains XML, JSON, binary TTLV or a hex dump. JSON may be a single operation without envelope:
{"tag":"Query","value":[…]}. Exit code 1: an item of the response failed.`,
  examples: [
    `echo '{"tag":"Locate","value":[]}' | warder kmip send -`,
    'warder kmip send create.xml --socket kms.example.com:5696 --cert me.crt --key me.key --ca-file ca.crt',
  ],
  options: {
    as,
    'kmip-version': { type: 'text', value: 'V', help: 'version of a single operation (default 2.1)' },
    'show-secrets': showSecrets,
    ...targetOptions,
  },
  parse(values, names) {
    const selectTarget = readTarget(values)
    const form = readForm(values.as)
    const version = readVersion(values['kmip-version'])
    const input = readInput(requireOneName(names, 'file'), { hex: false })
    const message = decodeMessage(input, version)
    return async ({ home, terminal }) => {
      const answer = await exchange(selectTarget(resolve(home)), message)
      const lines = formatMessage(answer, form ?? selectForm(input.encoding), values['show-secrets'])
      for (const line of lines) terminal.out(line)
      return hasSucceeded(answer) ? 0 : 1
    }
  },
})

const explainVerb = homeVerb({
  name: 'explain',
  words: 'HEX|FILE|-',
  summary: 'Decode a hex dump (digits, xxd, hexdump -C) or a file, one item per line',
  about: `Shows byte offset, name, type and value. Errors are reported with their offset, and decoding continues after them. Exit
code 1: there are errors.`,
  examples: [
    'warder kmip explain 42007801000000304200770100000028420069010000002042006a0200000004000000010000000042006b02000000040000000000000000',
    'xxd capture.bin | warder kmip explain -',
  ],
  options: { 'show-secrets': showSecrets },
  parse({ 'show-secrets': showSecretValues }, names) {
    const input = readInput(requireOneName(names, 'hex dump or file'), { hex: true })
    return async ({ terminal }) => {
      if (input.encoding !== 'ttlv') {
        for (const line of formatMessage(decodeMessage(input, '2.1'), 'text', showSecretValues))
          terminal.out(line)
        return 0
      }
      const { lines, problems } = explain(input.bytes, { showSecrets: showSecretValues })
      for (const line of lines) terminal.out(line)
      for (const problem of problems) terminal.err(problem)
      return problems.length === 0 ? 0 : 1
    }
  },
})

const query = homeVerb({
  name: 'query',
  words: '',
  usage: '[OPTIONS]',
  summary: 'Query the versions, operations, object types, profiles and capabilities of a server',
  examples: ['warder kmip query'],
  options: { as, ...targetOptions },
  parse(values, names) {
    const selectTarget = readTarget(values)
    const form = readForm(values.as)
    requireNoNames(names)
    return async ({ home, terminal }) => {
      const answer = await exchange(selectTarget(resolve(home)), buildFullQuery())
      const succeeded = hasSucceeded(answer)
      const short = form === undefined && succeeded
      for (const line of short ? formatQueryAnswer(answer) : formatMessage(answer, form ?? 'text', false))
        terminal.out(line)
      return succeeded ? 0 : 1
    }
  },
})

const certificate = homeVerb({
  name: 'certificate',
  words: 'NAME',
  summary: 'Issue a client certificate of the local authority of the home, for a program or device',
  about: 'Writes NAME.crt and NAME.key. NAME is the user that the certificate authenticates.',
  examples: ['warder kmip certificate storage-1'],
  options: {
    out: { type: 'text', value: 'PATH', help: 'writes PATH.crt and PATH.key' },
    days: { type: 'number', value: 'N', help: `validity in days (default ${defaultDays})` },
    rsa: {
      type: 'flag',
      help: 'creates an RSA key, for devices that support only RSA (default: a P-256 key)',
    },
  },
  parse({ out, days = defaultDays, rsa }, names) {
    if (days === 0) throw new UsageError('--days must be at least 1')
    const name = requireOneName(names, 'user')
    if (out === undefined && !/^[\w.@-]+$/.test(name))
      throw new UsageError('the name is not usable as a file name: use --out PATH')
    return async ({ home, terminal }) => {
      const request = { name, home: resolve(home), out: out ?? name, days, rsa, now: Date.now() }
      const { cert, key, validTo } = await makeCertificate(request)
      terminal.out(`${cert} and ${key}: ${name}, until ${validTo.toISOString().slice(0, 10)}`)
      return 0
    }
  },
})

const revokeCertificate = homeVerb({
  name: 'revoke-certificate',
  words: 'NAME',
  summary: 'Revoke the client certificates that the local authority issued to a user',
  about: `Adds them to HOME/tls/ca.crl. The services of this home reject them within a second, also on open connections. Name a
certificate that is not recorded in the home with --cert.`,
  examples: [
    'warder kmip revoke-certificate storage-1',
    'warder kmip revoke-certificate storage-1 --reason cessationOfOperation',
  ],
  options: {
    reason: { type: 'text', value: 'WHY', help: `${clientReasons.join(', ')} (default ${clientReasons[0]})` },
    cert: {
      type: 'text',
      value: 'FILE',
      help: 'revokes only this certificate, which must have the common name NAME',
    },
  },
  parse({ reason = clientReasons[0], cert }, names) {
    const name = requireOneName(names, 'user')
    const why = clientReasons.find((known) => known === reason)
    if (why === undefined) throw new UsageError(`--reason must be one of ${clientReasons.join(', ')}`)
    return async ({ home, terminal }) => {
      const revoked = await revokeCertificates({ name, home: resolve(home), cert, reason: why })
      for (const { serial, validTo } of revoked)
        terminal.out(
          `${name}: revoked ${serial}, which was valid until ${validTo.toISOString().slice(0, 10)}`,
        )
      return 0
    }
  },
})

export const kmip = kmsCommand({
  name: 'kmip',
  summary: 'Send KMIP messages, decode dumps, query servers, list devices, issue client certificates',
  about: `send and query use the KMIP socket of the home and the client certificate HOME/tls/client.crt, unless options name
others. devices asks the service; the other verbs need no login.`,
  verbs: [devicesVerb],
  homeVerbs: [send, explainVerb, query, certificate, listCertificatesVerb, revokeCertificate],
  example: '  warder kmip certificate storage-1\n  warder kmip devices --expiring 30d',
})

async function exchange({ endpoint, transport: way }: KmipTarget, message: TtlvNode): Promise<TtlvNode> {
  const connection = openConnection(endpoint, way)
  try {
    return await connection.exchange(message)
  } catch (error) {
    if (error instanceof KmipDecodeError)
      throw new StartupError(`the response cannot be decoded: ${error.message}`, { cause: error })
    throw new StartupError(`the server: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    })
  } finally {
    connection.close()
  }
}

function readForm(word: string | undefined): Form | undefined {
  const form = forms.find((name) => name === word)
  if (word !== undefined && form === undefined)
    throw new UsageError(`--as must be one of ${forms.join(', ')}, not '${word}'`)
  return form
}

function readVersion(word = '2.1'): KmipVersion {
  const version = kmipVersions.find((name) => name === word)
  if (version === undefined)
    throw new UsageError(`--kmip-version must be one of ${kmipVersions.join(', ')}, not '${word}'`)
  return version
}

/** Output format of a message. */
type Form = 'json' | 'xml' | 'hex' | 'text'

const forms: readonly Form[] = ['text', 'json', 'xml', 'hex']

/** Formats a message as indented lines; `text` omits key material. */
function formatMessage(node: TtlvNode, form: Form, showSecrets: boolean): readonly string[] {
  switch (form) {
    case 'json':
      return JSON.stringify(JSON.parse(encodeNode(node, 'json').toString('utf8')), undefined, 2).split('\n')
    case 'xml':
      return encodeNode(node, 'xml').toString('utf8').trimEnd().split('\n')
    case 'hex':
      return [encodeNode(node, 'ttlv').toString('hex')]
    case 'text':
      return explain(Buffer.from(encodeNode(node, 'ttlv')), { showSecrets }).lines
  }
}

/** Selects the output format for a request in this encoding. */
function selectForm(encoding: Encoding): Form {
  return encoding === 'ttlv' ? 'text' : encoding
}
