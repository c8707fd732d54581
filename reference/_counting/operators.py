"""Which operators of torch count nothing, and why; which are refused, and why.

With those that have a formula this is all of them: `tests/reference/test_closed_world.py` walks torch's own registry. A
name stands for all overloads and, without `_` at its end, for the operator that works in place, too.
"""

from __future__ import annotations

# What is in none of these groups, nor in `formulas`, and isn't made of operators that are, is refused when it runs.
_MOVES = {
    "makes a tensor, or asks something of one": """
        empty empty_like empty_permuted empty_quantized empty_strided new_empty new_empty_strided new_full new_ones
        new_zeros full full_like ones ones_like zeros zeros_like zero fill eye arange range linspace logspace
        scalar_tensor tril_indices triu_indices _efficientzerotensor _new_zeros_with_same_feature_meta
        bartlett_window blackman_window hamming_window hann_window kaiser_window fft_fftfreq fft_rfftfreq is_pinned
        is_same_size is_set_to is_coalesced dense_dim sparse_dim _dimI _dimV _nnz _has_same_storage_numel equal
        allclose _is_all_true _is_any_true _local_scalar_dense from_file q_per_channel_axis q_scale q_zero_point
        qscheme size stride storage_offset numel dim sym_size sym_numel sym_stride sym_storage_offset is_contiguous
        sym_is_contiguous is_complex is_floating_point is_signed is_inference is_nonzero is_leaf is_conj is_neg
        result_type can_cast promote_types get_device item _version output_nr data
    """,
    "another view of the same numbers, or a copy of them": """
        view _unsafe_view reshape _reshape_alias _reshape_alias_copy _reshape_copy view_copy view_as view_as_complex
        view_as_real view_as_complex_copy view_as_real_copy as_strided as_strided_copy as_strided_scatter alias
        alias_copy detach detach_copy clone copy _copy_from _copy_from_and_resize _to_copy to contiguous lift
        lift_fresh lift_fresh_copy _lazy_clone expand expand_copy expand_as permute permute_copy transpose
        transpose_copy t t_copy squeeze squeeze_copy unsqueeze unsqueeze_copy select select_copy select_scatter
        slice slice_copy slice_inverse slice_scatter split split_copy split_with_sizes split_with_sizes_copy
        unsafe_split unsafe_split_with_sizes unbind unbind_copy narrow narrow_copy diagonal diagonal_copy
        diagonal_scatter diag_embed unfold unfold_copy flatten unflatten cat _chunk_cat stack _stack block_diag
        repeat repeat_interleave roll flip rot90 tril triu im2col col2im pixel_shuffle pixel_unshuffle
        channel_shuffle constant_pad_nd reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d
        replication_pad2d replication_pad3d resize resize_as _resize_output set record_stream _pin_memory _conj
        _conj_copy _neg_view _neg_view_copy _fw_primal _fw_primal_copy _make_dual _make_dual_copy _to_dense complex
        polar _mkldnn_reshape _mkldnn_transpose _pack_padded_sequence index_select index gather take embedding
        masked_select nonzero nonzero_static _unsafe_index _unsafe_masked_index
    """,
}
_COMPUTES = {
    "each number by itself, or with one other": """
        __ilshift__ __irshift__ __lshift__ __rshift__ abs acos acosh add sub rsub mul div floor_divide fmod
        remainder addcdiv addcmul addr angle asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_not
        bitwise_or bitwise_right_shift bitwise_xor ceil clamp clamp_max clamp_min _conj_physical conj_physical
        copysign cos cosh deg2rad rad2deg digamma eq ne ge gt le lt erf erfc erfinv exp exp2 expm1 floor fmax fmin
        frac frexp gcd lcm heaviside hypot i0 igamma igammac isin isinf isnan isneginf isposinf ldexp lerp lgamma
        log log10 log1p log2 logaddexp logaddexp2 logical_and logical_not logical_or logical_xor logit maximum
        minimum masked_fill mvlgamma nan_to_num neg nextafter polygamma pow reciprocal round rsqrt sgn sign signbit
        sin sinc sinh sqrt square tan trunc where xlogy _masked_scale special_airy_ai special_bessel_j0
        special_bessel_j1 special_bessel_y0 special_bessel_y1 special_chebyshev_polynomial_t
        special_chebyshev_polynomial_u special_chebyshev_polynomial_v special_chebyshev_polynomial_w special_entr
        special_erfcx special_hermite_polynomial_h special_hermite_polynomial_he special_i0e special_i1 special_i1e
        special_laguerre_polynomial_l special_legendre_polynomial_p special_log_ndtr special_modified_bessel_i0
        special_modified_bessel_i1 special_modified_bessel_k0 special_modified_bessel_k1 special_ndtri
        special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1 special_shifted_chebyshev_polynomial_t
        special_shifted_chebyshev_polynomial_u special_shifted_chebyshev_polynomial_v
        special_shifted_chebyshev_polynomial_w special_spherical_bessel_j0 special_xlog1py special_zeta linalg_cross
        affine_grid_generator
    """,
    "sums, extremes and the like over elements, and their places": """
        sum nansum mean prod amax amin aminmax _aminmax max min argmax argmin any all median nanmedian mode kthvalue
        topk sort std std_mean var var_mean norm native_norm linalg_vector_norm linalg__powsum dist logsumexp cumsum
        cumprod cummax cummin _cummax_helper _cummin_helper logcumsumexp _logcumsumexp count_nonzero bincount histc
        histogram _histogramdd_bin_edges _histogramdd_from_bin_cts _histogramdd_from_bin_tensors trace renorm
        bucketize searchsorted unique_consecutive unique_dim unique_dim_consecutive _unique _unique2 segment_reduce
        _weight_norm_interface _embedding_bag _embedding_bag_forward_only embedding_renorm hash_tensor
        _compute_linear_combination
    """,
    "writes numbers to places, or adds them there": """
        index_add index_copy index_fill index_put _index_put_impl _unsafe_index_put
        _unsafe_masked_index_put_accumulate index_reduce masked_scatter scatter scatter_add scatter_reduce put
        max_unpool2d max_unpool3d
    """,
    "interpolates: torch's own counter counts none of it": """
        upsample_bicubic2d upsample_bilinear2d upsample_linear1d upsample_nearest1d upsample_nearest2d
        upsample_nearest3d upsample_trilinear3d _upsample_bicubic2d_aa _upsample_bilinear2d_aa
        _upsample_lanczos2d_aa _upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d
        grid_sampler_2d grid_sampler_3d _grid_sampler_2d_cpu_fallback
    """,
    "draws numbers": """
        rand rand_like randn randn_like randint randint_like randperm random normal normal_functional uniform
        bernoulli binomial cauchy exponential geometric log_normal multinomial poisson _sample_dirichlet
        _standard_gamma native_dropout _fused_dropout _philox_key_fold_in _philox_key_split _philox_normal
        _philox_uniform
    """,
    "a loss, element by element": """
        binary_cross_entropy binary_cross_entropy_with_logits huber_loss mse_loss multi_margin_loss
        multilabel_margin_loss_forward nll_loss_forward nll_loss2d_forward smooth_l1_loss soft_margin_loss _ctc_loss
        _use_cudnn_ctc_loss _use_miopen_ctc_loss
    """,
    "rounds to fewer bits": """
        fake_quantize_per_channel_affine_cachemask fake_quantize_per_tensor_affine_cachemask
        _fake_quantize_per_tensor_affine_cachemask_tensor_qparams _fake_quantize_learnable_per_channel_affine
        _fake_quantize_learnable_per_tensor_affine _fused_moving_avg_obs_fq_helper
        _fused_moving_avg_obs_fq_helper_functional
    """,
    "the same for each tensor of a list": """
        _foreach_abs _foreach_acos _foreach_add _foreach_addcdiv _foreach_addcmul _foreach_asin _foreach_atan
        _foreach_ceil _foreach_clamp_max _foreach_clamp_min _foreach_clone _foreach_copy _foreach_cos _foreach_cosh
        _foreach_div _foreach_erf _foreach_erfc _foreach_exp _foreach_expm1 _foreach_floor _foreach_frac
        _foreach_lerp _foreach_lgamma _foreach_log _foreach_log10 _foreach_log1p _foreach_log2 _foreach_max
        _foreach_maximum _foreach_minimum _foreach_mul _foreach_neg _foreach_norm _foreach_pow _foreach_powsum
        _foreach_reciprocal _foreach_round _foreach_rsqrt _foreach_sigmoid _foreach_sign _foreach_sin _foreach_sinh
        _foreach_sqrt _foreach_sub _foreach_tan _foreach_tanh _foreach_trunc _foreach_zero
    """,
    "the gradient of what counts nothing, or of what is counted by its elements": """
        _adaptive_avg_pool2d_backward _adaptive_avg_pool3d_backward adaptive_avg_pool3d_backward
        adaptive_max_pool2d_backward adaptive_max_pool3d_backward avg_pool2d_backward avg_pool3d_backward
        max_pool2d_with_indices_backward max_pool3d_with_indices_backward fractional_max_pool2d_backward
        fractional_max_pool3d_backward native_batch_norm_backward batch_norm_backward native_group_norm_backward
        native_layer_norm_backward _fused_rms_norm_backward native_dropout_backward _log_softmax_backward_data
        _softmax_backward_data _masked_softmax_backward _prelu_kernel_backward elu_backward gelu_backward
        glu_backward glu_backward_jvp glu_jvp hardshrink_backward hardsigmoid_backward hardswish_backward
        hardtanh_backward leaky_relu_backward log_sigmoid_backward rrelu_with_noise_backward sigmoid_backward
        silu_backward softplus_backward softshrink_backward tanh_backward threshold_backward logit_backward
        binary_cross_entropy_backward huber_loss_backward mse_loss_backward multi_margin_loss_backward
        multilabel_margin_loss_backward nll_loss_backward nll_loss2d_backward smooth_l1_loss_backward
        soft_margin_loss_backward _ctc_loss_backward embedding_dense_backward _embedding_bag_backward
        _embedding_bag_dense_backward _embedding_bag_per_sample_weights_backward diagonal_backward select_backward
        slice_backward unfold_backward masked_scatter_backward reflection_pad1d_backward reflection_pad2d_backward
        reflection_pad3d_backward replication_pad1d_backward replication_pad2d_backward replication_pad3d_backward
        upsample_bicubic2d_backward upsample_bilinear2d_backward upsample_linear1d_backward
        upsample_nearest1d_backward upsample_nearest2d_backward upsample_nearest3d_backward
        upsample_trilinear3d_backward _upsample_bicubic2d_aa_backward _upsample_bilinear2d_aa_backward
        _upsample_lanczos2d_aa_backward _upsample_nearest_exact1d_backward _upsample_nearest_exact2d_backward
        _upsample_nearest_exact3d_backward grid_sampler_2d_backward grid_sampler_3d_backward
        _grid_sampler_2d_cpu_fallback_backward _segment_reduce_backward _weight_norm_interface_backward
        _fake_quantize_learnable_per_channel_affine_backward _fake_quantize_learnable_per_tensor_affine_backward
        _dirichlet_grad _standard_gamma_grad
    """,
    "holds something, and computes nothing": """
        _assert_async _assert_scalar _assert_tensor_metadata _functional_assert_async _functional_assert_scalar
        _functional_sym_constrain_range _functional_sym_constrain_range_for_size sym_constrain_range
        sym_constrain_range_for_size _print _linalg_check_errors _make_dep_token _fused_sdp_choice
    """,
}

REFUSED_BY_NAME = {
    "solves or decomposes matrices: how many products that takes depends on the method": """
        cholesky cholesky_inverse cholesky_solve _cholesky_solve_helper geqrf lu_unpack ormqr triangular_solve
    """,
    "multiplies in a way that people count differently": """
        _trilinear _cdist_forward _cdist_backward _pdist_forward _pdist_backward _euclidean_dist conv_tbc
    """,
    "stands for several layers at once": """
        _addmm_activation
        _thnn_fused_gru_cell _thnn_fused_lstm_cell _thnn_fused_gru_cell_backward _thnn_fused_lstm_cell_backward_impl
        _transform_bias_rescale_qkv _transformer_encoder_layer_fwd _native_multi_head_attention
        _triton_multi_head_attention _triton_scaled_dot_attention _cudnn_rnn _cudnn_rnn_backward
        _cudnn_rnn_flatten_weight _lstm_mps lstm_mps_backward quantized_gru quantized_lstm mkldnn_rnn_layer_backward
    """,
    "is a kernel of attention that no CPU runs": """
        _cudnn_attention_forward _cudnn_attention_backward _efficient_attention_forward
        _efficient_attention_backward _flash_attention_forward _flash_attention_backward
        _flash_attention_forward_no_dropout_inplace _fill_mem_eff_dropout_mask
        _scaled_dot_product_attention_math_for_mps _scaled_dot_product_cudnn_attention
        _scaled_dot_product_efficient_attention _scaled_dot_product_flash_attention
        _scaled_dot_product_fused_attention_overrideable _scaled_dot_product_cudnn_attention_backward
        _scaled_dot_product_efficient_attention_backward _scaled_dot_product_flash_attention_backward
        _scaled_dot_product_flash_attention_for_cpu_backward
        _scaled_dot_product_fused_attention_overrideable_backward
    """,
    "is a kernel for another device or of one library": """
        _conv_depthwise2d conv_depthwise3d _slow_conv2d_forward _slow_conv2d_backward slow_conv3d_forward
        slow_conv_dilated2d slow_conv_dilated3d slow_conv_transpose2d slow_conv_transpose3d
        _nnpack_spatial_convolution _add_relu convolution_backward_overrideable linear_backward matmul_backward
        to_mkldnn batch_norm_elemt batch_norm_gather_stats batch_norm_gather_stats_with_counts batch_norm_stats
        batch_norm_update_stats batch_norm_backward_elemt batch_norm_backward_reduce max_pool2d_backward
        _cudnn_ctc_loss _cudnn_init_dropout_state
    """,
    "has numbers in few bits, of which no formula here knows how they are multiplied": """
        _convert_weight_to_int4pack _convert_weight_to_int4pack_for_cpu _dyn_quant_matmul_4bit
        _dyn_quant_pack_4bit_weight _mixed_dtypes_linear _weight_int4pack_mm _weight_int4pack_mm_for_cpu
        _weight_int4pack_mm_with_scales_and_zeros _weight_int8pack_mm _scaled_mm_v2 _empty_affine_quantized
        _empty_per_channel_affine_quantized dequantize int_repr _make_per_channel_quantized_tensor
        _make_per_tensor_quantized_tensor q_per_channel_scales q_per_channel_zero_points quantize_per_channel
        quantize_per_tensor quantize_per_tensor_dynamic quantized_batch_norm quantized_max_pool1d
        quantized_max_pool2d quantized_max_pool3d
    """,
    "multiplies groups whose sizes are values": """
        _grouped_mm _scaled_grouped_mm _scaled_grouped_mm_v2 _foreach_mm
    """,
    "has tensors in which most numbers are not kept, or whose rows differ in length": """
        _coalesce _coalesced _convert_indices_from_coo_to_csr _convert_indices_from_csr_to_coo _cslt_compress
        _cslt_sparse_mm _cslt_sparse_mm_search _indices _indices_copy _jagged_to_padded_dense_forward
        _padded_dense_to_jagged_forward _spdiags _spsolve _to_sparse _to_sparse_bsc _to_sparse_bsr _to_sparse_csc
        _to_sparse_csr _to_sparse_semi_structured _validate_compressed_sparse_indices _values _values_copy
        ccol_indices ccol_indices_copy col_indices col_indices_copy copy_sparse_to_sparse crow_indices
        crow_indices_copy hspmm indices indices_copy resize_as_sparse row_indices row_indices_copy
        sparse_compressed_tensor sparse_coo_tensor sparse_mask sparse_resize sparse_resize_and_clear
        sparse_sampled_addmm sspaddmm to_padded_tensor values values_copy
    """,
    "changes weights": """
        _amp_foreach_non_finite_check_and_unscale _amp_update_scale _fused_adagrad _fused_adam _fused_adamw
        _fused_sgd
    """,
}
REFUSED_BY_BEGINNING = {
    "_linalg_": "solves or decomposes matrices: how many products that takes depends on the method",
    "linalg_": "solves or decomposes matrices: how many products that takes depends on the method",
    "_fft_": "is a Fourier transform: how many products that takes depends on the method",
    "_sparse_": "has tensors in which most numbers are not kept",
    "_nested_": "has tensors whose rows differ in length",
    "_test_": "is one of torch's own tests",
    "_foobar": "is one of torch's own tests",
    "cudnn_": "is a kernel for another device",
    "miopen_": "is a kernel for another device",
    "_mps_": "is a kernel for another device",
    "mps_": "is a kernel for another device",
    "mkldnn_": "is a kernel of one library",
}
# Operators of other libraries that are known to multiply no matrices: they compare boxes, or read images between
# pixels, as an interpolation does.
OF_OTHERS = frozenset(
    f"torchvision::{name}" for name in ("nms", "roi_pool", "roi_align", "ps_roi_pool", "ps_roi_align")
)


def _names(groups: dict[str, str]) -> dict[str, str]:
    return {name: reason for reason, names in groups.items() for name in names.split()}


MOVES, COMPUTES, REFUSED = _names(_MOVES), _names(_COMPUTES), _names(REFUSED_BY_NAME)
NOTHING = {**MOVES, **COMPUTES}


def plain(name: str) -> str:
    """Return an operator's name without the `_` of in-place operators."""
    return name if name.startswith("__") else name.rstrip("_")


def refusal(name: str) -> str:
    """Why an operator is refused; nothing where no list has it."""
    return REFUSED.get(name) or next((why for start, why in REFUSED_BY_BEGINNING.items() if name.startswith(start)), "")
