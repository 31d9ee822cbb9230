import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createPlainServer, type RequestListener } from 'node:http'
import { createServer } from 'node:https'
import { type AddressInfo, connect, type Server } from 'node:net'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { issue } from '@warder/server/testing'
import { createOutbound } from './client.ts'
import { createPlainFetch } from './plain-fetch.ts'
import { readOutboundAccess } from './proxy.ts'

// Proxies of other projects, with Basic and rules for ports.

const folder = mkdtempSync(join(tmpdir(), 'warder-proxies-'))
// Squid becomes another user.
chmodSync(folder, 0o755)
const running: ChildProcess[] = []
const servers: Server[] = []
after(() => {
  for (const child of running) child.kill('SIGKILL')
  for (const server of servers) server.close()
  rmSync(folder, { recursive: true, force: true })
})

const address = Object.values(networkInterfaces())
  .flat()
  .find((one) => one?.family === 'IPv4' && !one.internal)?.address

async function listen(server: Server): Promise<number> {
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve))
  return (server.address() as AddressInfo).port
}

async function findPort(): Promise<number> {
  const probe = createPlainServer()
  const port = await listen(probe)
  await new Promise((resolve) => probe.close(resolve))
  return port
}

async function waitFor(port: number): Promise<void> {
  for (;;) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false))
      socket.on('connect', () => socket.destroy())
    })
    if (isOpen) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

interface ForeignProxy {
  readonly program: string
  /** Starts it. @param ports to which CONNECT is permitted */
  start(port: number, ports: readonly number[]): ChildProcess
}

const proxies: readonly ForeignProxy[] = [
  {
    program: 'tinyproxy',
    start(port, ports) {
      const file = join(folder, 'tinyproxy.conf')
      const lines = [
        `Port ${port}`,
        'Listen 127.0.0.1',
        'Timeout 20',
        'MaxClients 20',
        'Allow 127.0.0.1',
        'BasicAuth warder sesame',
        ...ports.map((one) => `ConnectPort ${one}`),
      ]
      writeFileSync(file, `${lines.join('\n')}\n`)
      return spawn('tinyproxy', ['-d', '-c', file], { stdio: 'ignore' })
    },
  },
  {
    program: 'squid',
    start(port, ports) {
      const [file, passwords] = [join(folder, 'squid.conf'), join(folder, 'passwords')]
      const hash = execFileSync('openssl', ['passwd', '-apr1', 'sesame'], { encoding: 'utf8' }).trim()
      writeFileSync(passwords, `warder:${hash}\n`)
      const lines = [
        `http_port 127.0.0.1:${port}`,
        'pid_filename none',
        'visible_hostname squid.example',
        'cache deny all',
        'access_log none',
        'cache_log /dev/null',
        'shutdown_lifetime 0 seconds',
        `auth_param basic program /usr/lib/squid/basic_ncsa_auth ${passwords}`,
        'acl known proxy_auth REQUIRED',
        `acl permitted port ${ports.join(' ')}`,
        'http_access deny CONNECT !permitted',
        'http_access allow known',
        'http_access deny all',
      ]
      writeFileSync(file, `${lines.join('\n')}\n`)
      return spawn('squid', ['-N', '-f', file], { stdio: 'ignore' })
    },
  },
]

const { certificatePem: cert, keyPem: key } = await issue({ hostnames: ['target.example'] })
writeFileSync(join(folder, 'ca.crt'), cert)
const reply: RequestListener = (request, response) => {
  assert.equal(request.headers['proxy-authorization'], undefined)
  response.end(`${request.method} ${request.headers.host} ${request.url}`)
}

for (const { program, start } of proxies) {
  const isMissing = spawnSync(program, ['-v']).error !== undefined
  const skip = isMissing
    ? `the program ${program} is not installed`
    : address === undefined && 'this machine has no network'
  test(`requests go through ${program}`, { skip }, async () => {
    const [secure, plain, denied] = [
      await listen(createServer({ cert, key }, reply)),
      await listen(createPlainServer(reply)),
      await listen(createPlainServer(reply)),
    ]
    const port = await findPort()
    running.push(start(port, [secure, plain]))
    await waitFor(port)
    const read = (credentials: string, resolves: boolean) =>
      readOutboundAccess(
        {
          outbound_allow_private_networks: true,
          outbound_ca_file: 'ca.crt',
          outbound_proxy: `http://${credentials}127.0.0.1:${port}`,
          outbound_proxy_credentials_file: undefined,
          outbound_proxy_resolves: resolves,
          outbound_no_proxy: [],
        },
        folder,
        {},
      )
    const here = async () => [{ address: String(address), family: 4 }]
    const bounds = { ports: 'any', maxRedirects: 0, maxBytes: 1000, timeoutMs: 5000 } as const
    const text = ({ body }: { readonly body: Uint8Array }) => Buffer.from(body).toString()
    const access = read('warder:sesame@', false)

    const outbound = createOutbound({ ...access, resolve: here })
    for (let count = 0; count < 2; count += 1)
      assert.equal(
        text(await outbound.get(`https://target.example:${secure}/a`)),
        `GET target.example:${secure} /a`,
      )
    const fetch = createPlainFetch({ ...access, ...bounds, resolve: here })
    assert.equal(text(await fetch.get(`http://target.example:${plain}/b`)), `GET target.example:${plain} /b`)
    const trusting = createPlainFetch({ ...read('warder:sesame@', true), ...bounds })
    assert.equal(text(await trusting.get(`http://${address}:${plain}/c?d`)), `GET ${address}:${plain} /c?d`)

    await assert.rejects(
      fetch.get(`http://target.example:${denied}/`),
      /refused a connection to \S+ with 403/,
    )
    for (const credentials of ['', 'warder:wrong@']) {
      const stranger = createOutbound({ ...read(credentials, false), resolve: here })
      await assert.rejects(
        stranger.get(`https://target.example:${secure}/`),
        /(?:requires|does not accept the) credentials \(40[17], /,
      )
      const plainStranger = createPlainFetch({ ...read(credentials, true), ...bounds })
      // tinyproxy answers 401 to wrong credentials, as a target could.
      const { status } = await plainStranger.get(`http://${address}:${plain}/`).catch((error: unknown) => {
        assert.match(String(error), /\(407, Basic\)/)
        return { status: 401 }
      })
      assert.equal(status, 401)
    }
  })
}
