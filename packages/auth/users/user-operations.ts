import { knownOperations } from './known-names.ts'
import { personOperations } from './persons.ts'

export const userOperations = [...knownOperations, ...personOperations]
