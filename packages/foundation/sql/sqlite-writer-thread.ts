// The one writer of the file. Takes everything that waits on all ports and commits it with one fsync.
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { commitGroup, openConnection, Statements } from './sqlite-connection.ts'
import { type CommitAnswer, type CommitMessage, toAnswer } from './sqlite-messages.ts'

/** More than this many units wait for the next group, so that none waits for an endless one. */
const largestGroup = 512

const { path } = workerData as { readonly path: string }
const db = openConnection(path, false)
const statements = new Statements(db)
const ports = new Set<MessagePort>()

function take(): { readonly port: MessagePort; readonly message: CommitMessage }[] {
  const waiting: { port: MessagePort; message: CommitMessage }[] = []
  for (const port of ports) {
    while (waiting.length < largestGroup) {
      const received = receiveMessageOnPort(port) as { message: CommitMessage } | undefined
      if (received === undefined) break
      waiting.push({ port, message: received.message })
    }
  }
  return waiting
}

function commitAll(first: { readonly port: MessagePort; readonly message: CommitMessage }): void {
  let group = [first, ...take()]
  while (group.length > 0) {
    const outcomes = commitGroup(
      db,
      statements,
      group.map(({ message }) => message.changes),
    )
    const answers = new Map<MessagePort, CommitAnswer[]>()
    group.forEach(({ port, message }, index) => {
      const outcome = outcomes[index] ?? { error: new Error('no outcome') }
      const list = answers.get(port)
      if (list === undefined) answers.set(port, [toAnswer(message.id, outcome)])
      else list.push(toAnswer(message.id, outcome))
    })
    for (const [port, list] of answers) port.postMessage(list)
    group = take()
  }
}

parentPort?.on('message', (message: { port: MessagePort } | 'close') => {
  if (message === 'close') {
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    db.close()
    for (const port of ports) port.close()
    parentPort?.close()
    return
  }
  const { port } = message
  ports.add(port)
  port.on('close', () => ports.delete(port))
  port.on('message', (unit: CommitMessage) => commitAll({ port, message: unit }))
})
