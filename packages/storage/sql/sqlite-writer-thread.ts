// The one writer of the file. Takes everything that waits on all ports and commits it with one fsync.
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { commitToFiles, openConnection, Statements } from './sqlite-connection.ts'
import { watchDatabaseFiles } from './sqlite-files.ts'
import { type CommitAnswer, type CommitMessage, type ProblemMessage, toAnswer } from './sqlite-writer.ts'

/** More than this many units wait for the next group, so that none waits for an endless one. */
const maxGroupUnits = 512
/** How often the files are looked at while nothing is written. */
const checkEveryMs = 1000

const { path } = workerData as { readonly path: string }
const db = openConnection(path, false)
const statements = new Statements(db)
const files = watchDatabaseFiles(path, notifyAll)
const ports = new Set<MessagePort>()

interface Unit extends CommitMessage {
  readonly port: MessagePort
}

function take(): Unit[] {
  const waiting: Unit[] = []
  for (const port of ports) {
    while (waiting.length < maxGroupUnits) {
      const received = receiveMessageOnPort(port) as { message: CommitMessage } | undefined
      if (received === undefined) break
      waiting.push({ ...received.message, port })
    }
  }
  return waiting
}

/** Nothing can be written any more: the primary, and every serving thread. */
function notifyAll(problem: string): void {
  const message: ProblemMessage = { problem }
  for (const port of [parentPort, ...ports]) port?.postMessage(message)
}

const looking = setInterval(files.check, checkEveryMs)

function commitAll(first: Unit): void {
  let group = [first, ...take()]
  while (group.length > 0) {
    const outcomes = commitToFiles(
      files,
      db,
      statements,
      group.map(({ changes }) => changes),
    )
    const answers = new Map<MessagePort, CommitAnswer[]>()
    group.forEach(({ port, id }, index) => {
      const outcome = outcomes[index] ?? { error: new Error('no outcome') }
      const list = answers.get(port)
      if (list === undefined) answers.set(port, [toAnswer(id, outcome)])
      else list.push(toAnswer(id, outcome))
    })
    for (const [port, list] of answers) port.postMessage(list)
    group = take()
  }
}

parentPort?.on('message', (message: { port: MessagePort } | 'close') => {
  if (message === 'close') {
    clearInterval(looking)
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    db.close()
    for (const port of ports) port.close()
    parentPort?.close()
    return
  }
  const { port } = message
  ports.add(port)
  const problem = files.problem()
  if (problem !== undefined) port.postMessage({ problem } satisfies ProblemMessage)
  port.on('close', () => ports.delete(port))
  port.on('message', (message: CommitMessage) => commitAll({ ...message, port }))
})
