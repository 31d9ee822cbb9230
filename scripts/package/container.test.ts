import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { type Dockerfile, DockerfileParser, type Instruction } from 'dockerfile-ast'
import { commands, minOpenFiles } from 'warder/testing'
import { parse } from 'yaml'
import { root } from '../bundle/entry-points.ts'
import { readManifest } from './manifest.ts'
import { validator } from './testing/json-schema.ts'

const folder = join(root, 'deploy', 'container')
const dockerfile: Dockerfile = DockerfileParser.parse(readFileSync(join(folder, 'Dockerfile'), 'utf8'))
const known =
  'ADD ARG CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL ONBUILD RUN SHELL STOPSIGNAL USER VOLUME WORKDIR'.split(
    ' ',
  )
const keyword = (each: Instruction): string => each.getKeyword()
const text = (each: Instruction): string => each.getArgumentsContent() ?? ''

/** The instructions of the last stage: what is shipped. */
function listShipped(): readonly Instruction[] {
  const all = dockerfile.getInstructions()
  return all.slice(all.findLastIndex((each) => keyword(each) === 'FROM'))
}

function only(name: string): string {
  const found = listShipped().filter((each) => keyword(each) === name)
  assert.equal(found.length, 1, `${name} is there ${found.length} times`)
  return text(found[0] as Instruction)
}

test('the image has two stages, of named images, and takes from the first what it runs alone', () => {
  const stages = dockerfile.getFROMs()
  assert.equal(stages.length, 2)
  for (const stage of stages) assert.match(stage.getImageTag() ?? '', /^(?!latest$).+/)
  for (const each of dockerfile.getInstructions()) assert.ok(known.includes(keyword(each)), keyword(each))
  const copies = listShipped().filter((each) => ['COPY', 'ADD'].includes(keyword(each)))
  assert.deepEqual(copies.map(text), ['/opt/warder /opt/warder'])
  assert.deepEqual(
    dockerfile.getCOPYs().map((each) => each.getFromFlag()?.getValue()),
    [undefined, 'build'],
  )
  assert.equal(stages[0]?.getBuildStage(), 'build')
  for (const run of listShipped().filter(
    (each) => keyword(each) === 'RUN' && text(each).includes('apt-get install'),
  ))
    assert.match(text(run), /--no-install-recommends[\s\S]*rm -rf \/var\/lib\/apt\/lists/)
})

test('it runs as a user without rights, as process 1, and holds no secret', () => {
  assert.match(only('USER'), /^[1-9]\d{3,}:[1-9]\d{3,}$/)
  assert.deepEqual(JSON.parse(only('ENTRYPOINT')), ['/opt/warder/bin/warder'])
  assert.deepEqual(JSON.parse(only('CMD')), ['start'])
  assert.equal(only('STOPSIGNAL'), 'SIGTERM')
  const after = listShipped().findIndex((each) => keyword(each) === 'USER')
  assert.deepEqual(
    listShipped()
      .slice(after)
      .filter((each) => keyword(each) === 'RUN'),
    [],
  )
  assert.doesNotMatch(dockerfile.getInstructions().map(text).join('\n'), /password|secret|root_key/i)
})

test('the health check is a command that there is', async () => {
  const [, check = '[]'] = /CMD (.*)$/.exec(only('HEALTHCHECK')) ?? []
  const [program, name, ...rest] = JSON.parse(check) as string[]
  assert.equal(program, '/opt/warder/bin/warder')
  assert.deepEqual(rest, [])
  assert.ok(await commands.find((each) => each.name === name)?.load())
})

test('nothing of a home or of another checkout gets into the image', () => {
  const ignored = readFileSync(join(folder, 'Dockerfile.dockerignore'), 'utf8').split('\n')
  for (const pattern of ['**/node_modules', '**/.warder', '.git'])
    assert.ok(ignored.includes(pattern), pattern)
})

test('the compose file is valid, and gives the container nothing that it does not need', () => {
  const validate = validator('compose-spec.json')
  const file = parse(readFileSync(join(folder, 'compose.yaml'), 'utf8'))
  assert.deepEqual(validate(file), [])
  assert.notDeepEqual(validate({ ...file, services: { warder: { readonly: true } } }), [])
  const { warder } = file.services
  assert.equal(warder.image, `warder:${readManifest('packages/warder').version}`)
  assert.equal(resolve(folder, warder.build.context), resolve(root))
  assert.equal(join(root, warder.build.dockerfile), join(folder, 'Dockerfile'))
  assert.equal(warder.user, only('USER'))
  assert.equal(warder.read_only, true)
  assert.deepEqual(warder.cap_drop, ['ALL'])
  assert.deepEqual(warder.security_opt, ['no-new-privileges:true'])
  const unit = readFileSync(join(root, 'deploy/systemd/warder.service'), 'utf8')
  assert.equal(String(warder.ulimits.nofile), /^LimitNOFILE=(\d+)$/m.exec(unit)?.[1])
  assert.ok(warder.ulimits.nofile >= minOpenFiles)
  const places = [...warder.tmpfs, ...warder.volumes].map((each: string) => each.split(':'))
  assert.deepEqual(
    places.map(([from, to]) => (from === 'home' ? to : from)),
    ['/tmp', ...JSON.parse(only('VOLUME'))],
  )
  const ports = warder.ports.map((port: string) => port.split(':'))
  assert.deepEqual(
    ports.map(([address]: string[]) => address),
    ['127.0.0.1', '127.0.0.1', '127.0.0.1'],
  )
  assert.deepEqual(
    ports.map((port: string[]) => port[2]),
    only('EXPOSE').split(' '),
  )
})
