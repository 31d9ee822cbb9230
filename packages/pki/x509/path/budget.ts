/** Limits the work of a validation. */
export interface Budget {
  /** Consumes one signature; false when none is left. */
  spend(): boolean
  /** Returns the result for a pair, computed once; undefined when no signature is left. */
  once(one: object, other: object, verify: () => boolean): boolean | undefined
  readonly isSpent: boolean
}

export function createBudget(signatures: number): Budget {
  let left = signatures
  let isSpent = false
  const known = new Map<object, Map<object, boolean>>()
  const spend = () => {
    if (left >= 1) left -= 1
    else isSpent = true
    return !isSpent
  }
  return {
    spend,
    once(one, other, verify) {
      const results = known.get(one) ?? new Map<object, boolean>()
      known.set(one, results)
      const before = results.get(other)
      if (before !== undefined) return before
      if (!spend()) return undefined
      const result = verify()
      results.set(other, result)
      return result
    },
    get isSpent() {
      return isSpent
    },
  }
}
