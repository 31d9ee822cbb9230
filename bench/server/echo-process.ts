import { fork } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface EchoProcess {
  readonly pid: number
  readonly url: string
  stop(): void
}

/** Starts a bare echo, of JSON over HTTPS or of frames over TLS, with the certificate of an installation. */
export function startEcho(home: string, what: 'echo' | 'frame-echo' = 'echo'): Promise<EchoProcess> {
  const tls = join(home, 'tls')
  const child = fork(fileURLToPath(new URL(`./${what}.ts`, import.meta.url)), [
    join(tls, 'kms.crt'),
    join(tls, 'kms.key'),
    join(tls, 'ca.crt'),
  ])
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`the echo server ended with code ${code}`)))
    child.once('message', ({ port }: { port: number }) => {
      resolve({
        pid: child.pid ?? 0,
        url: `https://127.0.0.1:${port}`,
        stop: () => {
          child.removeAllListeners()
          child.kill()
        },
      })
    })
  })
}
