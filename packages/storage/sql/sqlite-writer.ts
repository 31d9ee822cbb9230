import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import { StartupError } from '@warder/base'
import { GuardFailed, StorageUnavailable, UniqueViolation } from './errors.ts'
import type { PlainChange, UnitOutcome } from './sqlite-connection.ts'
import { createDatabaseFile } from './sqlite-files.ts'
import type { ChangeResult } from './types.ts'

/** From a serving thread to the writer: one unit to commit. */
export interface CommitMessage {
  readonly id: number
  readonly changes: readonly PlainChange[]
}

/** From the writer, one message for all units of a group that came through the same port. */
export type CommitAnswer = readonly [
  id: number,
  results: readonly ChangeResult[] | undefined,
  error: readonly [name: string, reason: string, index: number] | undefined,
]

/** From the writer, once: nothing can be written any more, and why. */
export interface ProblemMessage {
  readonly problem: string
}

export function toAnswer(id: number, outcome: UnitOutcome): CommitAnswer {
  if ('results' in outcome) return [id, outcome.results, undefined]
  const { error } = outcome
  // The message of a failure is for callers; its detail, why, is for the log.
  const reason = error instanceof StorageUnavailable ? (error.detail ?? error.message) : error.message
  return [id, undefined, [error.name, reason, error instanceof GuardFailed ? error.index : 0]]
}

/** Errors lose their class between threads; this restores it. */
export function fromAnswer([, results, error]: CommitAnswer): UnitOutcome {
  if (error === undefined) return { results: results ?? [] }
  const [name, reason, index] = error
  if (name === 'GuardFailed') return { error: new GuardFailed(index) }
  if (name === 'UniqueViolation') return { error: new UniqueViolation(reason) }
  if (name === 'StorageUnavailable') return { error: new StorageUnavailable(reason) }
  return { error: new Error(reason) }
}

/** The primary's writer thread: the only connection of this process that writes the file. */
export interface SqliteWriter {
  /** A port for one serving thread (transferable), for `openSqlite`. */
  port(): MessagePort
  /** Called when the thread ends by itself; nothing can be written any more. */
  onFailure(listener: (error: Error) => void): void
  /** Called once when another program removed or replaced a file of the database: every commit is refused from then on. */
  onProblem(listener: (problem: string) => void): void
  /** Commits waiting changes, checkpoints the log and ends. */
  close(): Promise<void>
}

export async function startSqliteWriter(options: { readonly path: string }): Promise<SqliteWriter> {
  createDatabaseFile(options.path)
  const thread = new Worker(new URL('./sqlite-writer-thread.ts', import.meta.url), {
    name: 'warder-sqlite-writer',
    workerData: { path: options.path },
  })
  let closing = false
  const listeners: ((error: Error) => void)[] = []
  const problemListeners: ((problem: string) => void)[] = []
  const ended = new Promise<void>((resolve) => thread.once('exit', () => resolve()))
  const fail = (error: Error): void => {
    if (!closing) for (const listener of listeners) listener(error)
  }
  await new Promise<void>((resolve, reject) => {
    thread.once('online', resolve)
    thread.once('error', (error) => {
      const reason = error instanceof Error ? error : new Error(String(error))
      reject(new StartupError(reason.message))
      fail(reason)
    })
  })
  thread.on('message', ({ problem }: { problem: string }) => {
    for (const listener of problemListeners) listener(problem)
  })
  thread.once('exit', (code) => fail(new Error(`the SQLite writer ended with code ${code}`)))
  return {
    port() {
      const { port1, port2 } = new MessageChannel()
      thread.postMessage({ port: port1 }, [port1])
      return port2
    },
    onFailure: (listener) => void listeners.push(listener),
    onProblem: (listener) => void problemListeners.push(listener),
    async close() {
      closing = true
      thread.postMessage('close')
      await ended
    },
  }
}
