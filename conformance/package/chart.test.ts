import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { parseAllDocuments } from 'yaml'
import { canRun, runProgram } from '../clients/run-program.ts'

const chart = fileURLToPath(new URL('../../deploy/helm/warder', import.meta.url))
const helm = process.env.WARDER_HELM ?? 'helm'
const skip = canRun(helm, ['version'])
  ? false
  : 'helm is not here: install it, or set WARDER_HELM to the program'
const secrets = ['database', 'tls', 'admin'].flatMap((name) => ['--set', `${name}.existingSecret=my-${name}`])
const rootKey = ['--set', 'rootKey.existingSecret=my-root-key']

function render(...words: string[]) {
  const args = ['template', 'w', chart, '--kube-version', '1.31.0', ...words]
  return spawnSync(helm, args, { encoding: 'utf8' })
}

test('the chart makes two nodes that share databases and keys, and nothing in clear', { skip }, () => {
  assert.equal(spawnSync(helm, ['lint', chart, ...secrets, ...rootKey]).status, 0)
  const { status, stdout, stderr } = render(...secrets, ...rootKey)
  assert.equal(status, 0, stderr)
  const objects = parseAllDocuments(stdout).map((document) => document.toJS())
  const of = (kind: string) => objects.find((each) => each.kind === kind) ?? assert.fail(kind)
  const { spec } = of('StatefulSet')
  assert.equal(spec.replicas, 2)
  const pod = spec.template.spec
  assert.deepEqual(
    [
      pod.securityContext.runAsNonRoot,
      pod.securityContext.seccompProfile.type,
      pod.automountServiceAccountToken,
    ],
    [true, 'RuntimeDefault', false],
  )
  const [container] = pod.containers
  assert.deepEqual(container.securityContext, {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  })
  for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe']) assert.ok(container[probe], probe)
  const given = Object.fromEntries(
    container.env.map((each: { name: string; valueFrom?: { secretKeyRef: { name: string } } }) => [
      each.name,
      each.valueFrom?.secretKeyRef.name,
    ]),
  )
  for (const name of ['AUTH_DATABASE_URL', 'KMS_DATABASE_URL']) assert.equal(given[name], 'my-database')
  assert.deepEqual([given.WARDER_ROOT_KEY, given.WARDER_ADMIN_PASSWORD], ['my-root-key', 'my-admin'])
  const labels = spec.template.metadata.labels
  for (const kind of ['PodDisruptionBudget', 'NetworkPolicy', 'Service']) {
    const { selector, podSelector } = of(kind).spec
    for (const [name, value] of Object.entries(selector?.matchLabels ?? podSelector?.matchLabels ?? selector))
      assert.equal(labels[name], value, `${kind} ${name}`)
  }
})

test('the root key comes from a file, too; what is missing or unknown is refused', { skip }, () => {
  const file = render(...secrets, '--set', 'rootKey.file=/keys/root.key')
  assert.match(file.stdout, /KMS_ROOT_KEY_FILE, value: "\/keys\/root.key"/)
  assert.doesNotMatch(file.stdout, /WARDER_ROOT_KEY|ROOT_KEY_SOURCE/)
  const assertRefused = (...words: string[]) => {
    const { status, stderr } = render(...words)
    assert.notEqual(status, 0)
    return stderr
  }
  assert.match(assertRefused(...secrets), /all nodes share one root key/)
  assert.match(assertRefused(...secrets, ...rootKey, '--set', 'rootKey.file=/x'), /not both/)
  assert.match(assertRefused(...rootKey), /name the Secret/)
  assert.match(assertRefused(...secrets, ...rootKey, '--set', 'replicaCount=3'), /replicaCount/)
})

const types = fileURLToPath(new URL('kubernetes-types', import.meta.url))
const withoutGo = canRun('go', ['build', '-C', types, '-o', '/dev/null', '.'])
  ? false
  : 'Go or its modules are not here'

test('the objects of the chart are those of the official types of Kubernetes', {
  skip: skip || withoutGo,
}, async () => {
  const check = (text: string) => runProgram('go', ['run', '-C', types, '.'], { input: Buffer.from(text) })
  const { stdout } = render(
    ...secrets,
    ...rootKey,
    '--set',
    'networkPolicy.from[0].podSelector.matchLabels.a=b',
  )
  const found = await check(stdout)
  assert.equal(found.code, 0, found.err)
  const kinds = found.out.toString().trim().split('\n').toSorted()
  assert.deepEqual(kinds, ['NetworkPolicy', 'PodDisruptionBudget', 'Service', 'Service', 'StatefulSet'])
  const wrong = await check(stdout.replace('readOnlyRootFilesystem', 'readOnlyRootFileSystem'))
  assert.match(wrong.err, /unknown field/)
})
