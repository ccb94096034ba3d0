//! The order of values: every list is in the order in which ClickHouse 26.9 sorts it.

#[cfg(test)]
mod tests {
    use arrow_array::builder::FixedSizeBinaryBuilder;
    use arrow_array::{
        Array, ArrayRef, DictionaryArray, Float32Array, Float64Array, Int8Array, Int32Array,
        ListArray, StringArray,
    };
    use arrow_row::{RowConverter, SortField};
    use arrow_schema::SortOptions;
    use std::sync::Arc;
    use tambour_part::types::DataType;
    use tambour_table::schema::expression::sort_form;

    /// Positions in the order of the rows.
    fn order(values: ArrayRef, data_type: &str) -> Vec<usize> {
        let data_type: DataType = data_type.parse().unwrap();
        let form = sort_form(&values, &data_type).unwrap();
        assert_eq!(form.len(), values.len());
        let options = SortOptions { descending: false, nulls_first: false };
        let field = SortField::new_with_options(form.data_type().clone(), options);
        let rows = RowConverter::new(vec![field]).unwrap().convert_columns(&[form]).unwrap();
        let mut positions: Vec<usize> = (0..rows.num_rows()).collect();
        positions.sort_by(|a, b| rows.row(*a).cmp(&rows.row(*b)));
        positions
    }

    fn bytes(values: &[[u8; 16]]) -> ArrayRef {
        let mut builder = FixedSizeBinaryBuilder::new(16);
        for value in values {
            builder.append_value(value).unwrap();
        }
        Arc::new(builder.finish())
    }

    #[test]
    fn nan_and_null_come_last_and_zeros_are_equal() {
        let floats = vec![
            None,
            Some(-f64::NAN),
            Some(f64::INFINITY),
            Some(0.0),
            Some(-0.0),
            Some(f64::NEG_INFINITY),
        ];
        assert_eq!(
            order(Arc::new(Float64Array::from(floats)), "Nullable(Float64)"),
            [5, 3, 4, 2, 1, 0]
        );
        let floats = vec![f32::NAN, 1.0, -1.0];
        assert_eq!(order(Arc::new(Float32Array::from(floats)), "Float32"), [2, 1, 0]);
    }

    #[test]
    fn enums_are_sorted_by_number() {
        let names: ArrayRef = Arc::new(StringArray::from(vec!["z", "a", "m"]));
        let keys = Int8Array::from(vec![Some(2), None, Some(0), Some(1)]);
        let values = DictionaryArray::try_new(keys, names).unwrap();
        assert_eq!(order(Arc::new(values), "Enum8('z' = -5, 'a' = 0, 'm' = 7)"), [2, 3, 0, 1]);
    }

    #[test]
    fn uuids_are_sorted_by_their_second_half_first() {
        let uuid = |first: u64, second: u64| {
            let mut value = [0; 16];
            value[..8].copy_from_slice(&first.to_be_bytes());
            value[8..].copy_from_slice(&second.to_be_bytes());
            value
        };
        let values = bytes(&[uuid(1, 2), uuid(2, 1), uuid(u64::MAX - 1, 1)]);
        assert_eq!(order(values.clone(), "UUID"), [1, 2, 0]);
        assert_eq!(order(values, "IPv6"), [0, 1, 2]);
    }

    #[test]
    fn wide_integers_are_sorted_as_numbers() {
        let number = |low: i128| {
            let mut value = [if low < 0 { 0xff } else { 0 }; 32];
            value[..16].copy_from_slice(&low.to_le_bytes());
            value
        };
        let mut builder = FixedSizeBinaryBuilder::new(32);
        for value in [256, -1, 1, i128::MIN, 255] {
            builder.append_value(number(value)).unwrap();
        }
        let values: ArrayRef = Arc::new(builder.finish());
        assert_eq!(order(values.clone(), "Int256"), [3, 1, 2, 4, 0]);
        assert_eq!(order(values, "UInt256"), [2, 4, 0, 3, 1]);
    }

    #[test]
    fn arrays_are_sorted_element_by_element() {
        let lists = ListArray::from_iter_primitive::<arrow_array::types::Float64Type, _, _>([
            Some(vec![Some(1.0), Some(f64::NAN)]),
            Some(vec![Some(1.0), Some(2.0)]),
            Some(vec![Some(1.0)]),
            Some(vec![]),
        ]);
        assert_eq!(order(Arc::new(lists), "Array(Float64)"), [3, 2, 1, 0]);
    }

    #[test]
    fn other_types_stay_as_they_are() {
        let values: ArrayRef = Arc::new(Int32Array::from(vec![Some(3), None, Some(-3)]));
        assert_eq!(order(values, "Nullable(Int32)"), [2, 0, 1]);
        let maps = DataType::Map(Box::new(DataType::String), Box::new(DataType::UInt8));
        let values: ArrayRef = Arc::new(Int32Array::from(vec![1]));
        assert!(sort_form(&values, &maps).is_err());
    }
}
