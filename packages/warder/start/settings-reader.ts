import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { StartupError } from '@warder/base'
import type { OwnTls, ServiceName } from '@warder/command-line/endpoints'
import { forwardLines } from './child.ts'
import type { ListenAddresses } from './listen-addresses.ts'

export interface SettingsStart {
  readonly home: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** Receives the error output of its process. */
  readonly tell: (line: string) => void
}

export type Question =
  | { readonly kind: 'places' }
  | { readonly kind: 'reach'; readonly authUrl: string }
  | { readonly kind: 'trust'; readonly authUrl: string; readonly kmsUrl: string }

export interface Answers {
  places: ListenAddresses & { readonly nodeFlags: NodeFlags }
  reach: undefined
  trust: {
    readonly auth: OwnTls | undefined
    readonly kms: OwnTls | undefined
    /** Address of the kms for browsers; undefined: it is not https. */
    readonly browserUrl: string | undefined
  }
}

/** Flags with which the process of each service is started. */
export type NodeFlags = Readonly<Record<ServiceName, readonly string[]>>

export type Reply = { readonly answer: unknown } | { readonly refused: string; readonly startup: boolean }

/** Reads the settings of both services for the starter. */
export interface SettingsReader {
  /** Reads the addresses and flags of both services. @throws StartupError for invalid settings */
  places(): Promise<Answers['places']>
  /** @throws StartupError when the kms cannot verify the certificate of auth at this address */
  requireReachableAuth(authUrl: string): Promise<void>
  /** Finds the parameters to verify certificates of the operator, and the address for browsers. */
  ownTls(authUrl: string, kmsUrl: string): Promise<Answers['trust']>
  /** Resolves when its process has ended. */
  close(): Promise<void>
}

const entry = fileURLToPath(new URL('./settings-process.ts', import.meta.url))

/** Reads settings in a separate process, because that loads the code of both services, which would stay in memory. */
export function openSettingsReader({ home, env, tell }: SettingsStart): SettingsReader {
  let child: ChildProcess | undefined
  const startReader = (): ChildProcess => {
    const reader = fork(entry, [home], {
      env,
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    forwardLines(reader.stderr, tell)
    return reader
  }
  const ask = async <Asked extends Question>(question: Asked): Promise<Answers[Asked['kind']]> => {
    child ??= startReader()
    const ended = once(child, 'exit').then(() => {
      throw new Error('the process that reads the settings ended')
    })
    child.send(question)
    const [reply] = (await Promise.race([once(child, 'message'), ended])) as [Reply]
    if ('answer' in reply) return reply.answer as Answers[Asked['kind']]
    throw reply.startup ? new StartupError(reply.refused) : new Error(reply.refused)
  }
  return {
    places: () => ask({ kind: 'places' }),
    requireReachableAuth: async (authUrl) => void (await ask({ kind: 'reach', authUrl })),
    ownTls: (authUrl, kmsUrl) => ask({ kind: 'trust', authUrl, kmsUrl }),
    async close() {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      if (child.connected) child.disconnect()
      await ended
    },
  }
}
