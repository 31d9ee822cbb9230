import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { commands } from 'warder/testing'
import { parse } from 'yaml'
import { root } from '../bundle/entry-points.ts'

test('the static pod calls the provider with options that there are, in mounted folders, without rights', async () => {
  const { spec } = parse(readFileSync(join(root, 'deploy/kubernetes/warder-kubernetes-kms.yaml'), 'utf8'))
  const [container] = spec.containers
  const [name, ...words] = container.args as string[]
  const command = await commands.find((each) => each.name === name)?.load()
  const probe = (container.livenessProbe.exec.command as string[]).slice(2)
  const given = [...words, ...probe].map((word) => word.split('=')[0] ?? '')
  for (const option of given) assert.ok(command?.help.includes(option), option)
  const mounted = (container.volumeMounts as { mountPath: string }[]).map(({ mountPath }) => mountPath)
  const files = words.map((word) => word.split('=')[1] ?? '').filter((value) => value.startsWith('/'))
  assert.equal(files.length, 3)
  for (const file of files)
    assert.ok(
      mounted.some((folder) => file.startsWith(`${folder}/`)),
      file,
    )
  assert.deepEqual(container.securityContext.capabilities, { drop: ['ALL'] })
  assert.equal(container.securityContext.readOnlyRootFilesystem, true)
})
