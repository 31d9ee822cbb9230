// Reads the settings of both services, which takes the code of both, and ends before it costs memory for long.

import { StartupError } from '@warder/foundation/errors'
import { configure, type ServiceConfiguration } from '../installation/configuration.ts'
import { ownTls, requireReachableAuth } from '../installation/own-certificate.ts'
import type { Answers, Place, Places, Question, Reply } from './settings-reader.ts'

const [home = ''] = process.argv.slice(2)

const read = (): readonly [ServiceConfiguration, ServiceConfiguration] => [
  configure('auth', home, [], process.env),
  configure('kms', home, [], process.env),
]

const answers: {
  [Kind in Question['kind']]: (question: Question & { kind: Kind }) => Promise<Answers[Kind]>
} = {
  async places() {
    const [auth, kms] = read()
    return { auth: placeOf(auth), kms: placeOf(kms), socket: socketOf(kms), plain: isPlain(auth) }
  },
  async reach({ authUrl }) {
    const [auth, kms] = read()
    await requireReachableAuth(auth, kms, authUrl)
  },
  async trust({ authUrl, kmsUrl }) {
    const both = read()
    return { auth: await ownTls(both[0], authUrl, both), kms: await ownTls(both[1], kmsUrl, both) }
  },
}

function placeOf({ launch }: ServiceConfiguration): Place {
  return { host: launch.config.host, port: launch.config.port }
}

const isPlain = ({ launch }: ServiceConfiguration): boolean => launch.config.plaintext_http

/** undefined: there will be no KMIP socket, or none of which it is known here. */
function socketOf({ launch: { config } }: ServiceConfiguration): Places['socket'] {
  const { host, plaintext_http: plain, clients_ca_cert_file: authorities } = config
  const { socket_server_start: wanted, socket_server_port: port, socket_server_hostname: hostname } = config
  if (wanted !== true || plain || authorities === undefined || typeof port !== 'number') return undefined
  return { host: typeof hostname === 'string' ? hostname : host, port }
}

async function reply(question: Question): Promise<Reply> {
  try {
    const answer = answers[question.kind] as (asked: Question) => Promise<unknown>
    return { answer: await answer(question) }
  } catch (error) {
    const startup = error instanceof StartupError
    const text =
      error instanceof Error ? (startup ? error.message : (error.stack ?? error.message)) : String(error)
    return { refused: text, startup }
  }
}

// A start that is interrupted is told to the services; this process ends with the starter's channel.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined)
process.on('message', async (question: Question) => process.send?.(await reply(question)))
