// Callers who encrypt large data without pause, on a thread of their own: the calm caller's clock must not see their work.
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { join } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'

const { url, home, headers, body, callers } = workerData as {
  readonly url: string
  readonly home: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  readonly callers: number
}
const agent = new Agent({
  keepAlive: true,
  maxSockets: callers,
  ca: readFileSync(join(home, 'tls', 'ca.crt')),
})
let over = false
let done = 0

function encrypt(): Promise<void> {
  return new Promise((resolve, reject) => {
    const options = { agent, method: 'POST', headers: { ...headers, 'content-length': body.byteLength } }
    const sent = request(new URL('/v1/crypto/encrypt', url), options, (response) => {
      response.on('end', () => {
        if (response.statusCode === 200) done++
        resolve()
      })
      response.resume()
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

async function repeat(): Promise<void> {
  while (!over) await encrypt()
}

parentPort?.on('message', () => {
  over = true
})
await Promise.all(Array.from({ length: callers }, repeat))
agent.destroy()
parentPort?.postMessage(done)
parentPort?.close()
