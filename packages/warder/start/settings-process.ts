// Reads the settings of both services in a short-lived process, because that loads the code of both.

import { StartupError } from '@warder/base'
import { configure, readNodeFlags, type ServiceConfiguration } from '../installation/configuration.ts'
import { findOwnTls } from '../installation/own-certificate.ts'
import { findBrowserUrl, requireTogether } from '../installation/together.ts'
import { getListenAddresses } from './listen-addresses.ts'
import type { Answers, Question, Reply } from './settings-reader.ts'

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
    const nodeFlags = { auth: await readNodeFlags(auth), kms: await readNodeFlags(kms) }
    return { ...getListenAddresses(auth, kms), nodeFlags }
  },
  async reach({ authUrl }) {
    const [auth, kms] = read()
    await requireTogether(auth, kms, authUrl)
  },
  async trust({ authUrl, kmsUrl }) {
    const both = read()
    const [auth, kms] = [await findOwnTls(both[0], authUrl, both), await findOwnTls(both[1], kmsUrl, both)]
    return { auth, kms, browserUrl: findBrowserUrl(both[1], Number(new URL(kmsUrl).port), kms?.server_name) }
  },
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

// Signals are for the services; this process ends with the IPC channel of the starter.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined)
process.on('message', async (question: Question) => process.send?.(await reply(question)))
