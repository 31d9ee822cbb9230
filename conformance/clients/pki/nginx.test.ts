import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from 'node:tls'
import { runSigning } from '@warder/kms/testing'
import { readOcspResponse } from '@warder/pki/testing'
import { canRun } from '../run-program.ts'
import { type PkiWorld, startPkiWorld } from './world.ts'

const program = process.env.WARDER_NGINX ?? 'nginx'
const skip = canRun(program, ['-v'])
  ? false
  : 'nginx is not here: install it, or set WARDER_NGINX to the program'

test('nginx staples answers of OCSP, and refuses a stolen client by OCSP and by the revocation list', {
  skip,
  timeout: 60_000,
}, async () => {
  await using world = await startPkiWorld(runSigning)
  await using nginx = await startNginx(world)
  const ca = readFileSync(world.path('root'))
  const ask = (name: string, port: number) =>
    new Promise<string>((resolve, reject) => {
      const [cert, key] = [name, `${name}-key`].map((one) => readFileSync(world.path(one)))
      const chain = Buffer.concat([cert ?? Buffer.alloc(0), readFileSync(world.path('issuing'))])
      const options = {
        host: '127.0.0.1',
        port,
        servername: 'good.example',
        ca,
        cert: chain,
        key,
        agent: false,
      }
      request(options, (answer) => {
        let text = ''
        answer.on('data', (part) => {
          text += part
        })
        answer.on('end', () => resolve(`${answer.statusCode} ${text}`))
      })
        .on('error', reject)
        .end()
    })
  for (const port of [nginx.byOcsp, nginx.byList]) {
    assert.equal(await ask('device', port), '200 SUCCESS')
    assert.equal(await ask('stolen', port), '200 FAILED:certificate revoked')
  }
  const answer = readOcspResponse(await readStaple(nginx.byList, ca))
  assert.ok(answer.error === undefined)
  assert.deepEqual(
    answer.answers.map(({ status }) => status.kind),
    ['good'],
  )
  assert.ok(world.asked.some((line) => line.startsWith('GET /ocsp/')))
})

/** Messages of a handshake: nginx asks after the first one. */
async function readStaple(port: number, ca: Buffer): Promise<Buffer> {
  for (let tries = 0; tries < 50; tries += 1) {
    const response = await new Promise<Buffer | null>((resolve, reject) => {
      const options = { host: '127.0.0.1', port, servername: 'good.example', ca, requestOCSP: true }
      const socket = connect({ ...options, session: undefined })
      socket.once('error', reject)
      socket.once('OCSPResponse', (bytes: Buffer | null) => {
        socket.destroy()
        resolve(bytes)
      })
    })
    if (response !== null && response.length > 0) return response
    await sleep(50)
  }
  throw new Error('nginx never stapled an answer')
}

interface Nginx extends AsyncDisposable {
  readonly byOcsp: number
  readonly byList: number
}

async function startNginx(world: PkiWorld): Promise<Nginx> {
  const folder = world.path('nginx')
  mkdirSync(folder)
  const pem = (name: string) => readFileSync(world.path(name), 'utf8')
  const crl = async (of: 'root' | 'issuing') =>
    `-----BEGIN X509 CRL-----\n${(await world.crl(of)).toString('base64')}\n-----END X509 CRL-----\n`
  const file = (name: string, text: string): string => {
    writeFileSync(`${folder}/${name}`, text)
    return `${folder}/${name}`
  }
  const [byOcsp, byList] = [await freePort(), await freePort()]
  const trusted = file('trusted.pem', pem('issuing') + pem('root'))
  const server = (port: number, ...lines: readonly string[]): string => `server {
    listen 127.0.0.1:${port} ssl;
    ssl_certificate ${file('chain.pem', pem('good') + pem('issuing'))};
    ssl_certificate_key ${world.path('good-key')};
    ssl_client_certificate ${file('root.pem', pem('root'))};
    ssl_trusted_certificate ${trusted};
    ssl_verify_client optional;
    ssl_verify_depth 2;
    error_page 495 496 = /;
    ${lines.join(' ')}
    location / { return 200 $ssl_client_verify; }
  }`
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const settings = file(
    'nginx.conf',
    `daemon off; master_process off; pid ${folder}/pid; error_log ${folder}/error.log;
events { worker_connections 64; }
http {
  access_log off;
  ${places.map((place) => `${place}_temp_path ${folder}/${place};`).join(' ')}
  ${server(byOcsp, 'ssl_ocsp leaf;')}
  ${server(byList, `ssl_crl ${file('lists.pem', (await crl('root')) + (await crl('issuing')))};`, 'ssl_stapling on; ssl_stapling_verify on;')}
}`,
  )
  const child = spawn(program, ['-p', folder, '-c', settings], { stdio: ['ignore', 'ignore', 'pipe'] })
  let complaint = ''
  child.stderr.on('data', (text) => {
    complaint += text
  })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  for (let tries = 0; !(await isOpen(byList)); tries += 1) {
    if (tries === 100 || child.exitCode !== null) throw new Error(`nginx does not start: ${complaint}`)
    await sleep(50)
  }
  return {
    byOcsp,
    byList,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      await ended
    },
  }
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false })
    socket.once('secureConnect', () => resolve(true))
    socket.once('error', () => resolve(false))
    socket.once('close', () => resolve(false))
    socket.once('secureConnect', () => socket.destroy())
  })
}

/** nginx takes no number 0. */
function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer()
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' ? (address?.port ?? 0) : 0))
    })
  })
}
