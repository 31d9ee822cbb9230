import { useState } from 'react'
import { CodeBlock } from '../../../parts/code-block.tsx'
import { Empty } from '../../../parts/empty.tsx'
import { texts } from '../../../texts.ts'
import { type KeyUse, listUses, type Operation } from './algorithms.ts'
import type { KeyProps } from './rights.ts'
import { listSamples } from './samples.ts'

const words = texts.tryKey

/** Programs that use this key. */
export function Code({ of: key }: Pick<KeyProps, 'of'>) {
  const uses = listUses(key)
  const [chosen, setChosen] = useState<Operation>()
  const use = uses.find(({ operation }) => operation === chosen) ?? uses[0]
  if (use === undefined)
    return (
      <Empty title={words.none}>
        <p>{words.noneHelp}</p>
      </Empty>
    )
  const [protection] = [...use.algs, ...(uses[0]?.algs ?? [])]
  const samples = listSamples({
    operation: use.operation,
    origin: window.location.origin,
    kid: key.kid,
    alg: key.abe === undefined ? (protection?.alg ?? '') : 'ABE',
    enc: protection?.enc ?? '',
    ...(key.abe !== undefined && { policy: '*' }),
  })
  return (
    <>
      <OperationChoice uses={uses} chosen={use} choose={setChosen} />
      <p className="quiet">{words.samplesHelp}</p>
      <CodeBlock label={words.samples} samples={samples} />
    </>
  )
}

/** The operations that the key has by its purpose. */
export function OperationChoice(props: {
  readonly uses: readonly KeyUse[]
  readonly chosen: KeyUse
  readonly choose: (operation: Operation) => void
}) {
  const { uses, chosen, choose } = props
  return (
    <fieldset className="segments">
      <legend className="hidden">{words.operation}</legend>
      {uses.map(({ operation }) => (
        <label key={operation}>
          <input
            type="radio"
            name="operation"
            checked={operation === chosen.operation}
            onChange={() => choose(operation)}
          />
          {words.operations[operation]}
        </label>
      ))}
    </fieldset>
  )
}
